"""Every picture as plain JSON, one file each: pure functions of plain data."""

from __future__ import annotations

from autotune.figures.crash_map import Panel, crash_map
from autotune.figures.gpus import CardCurve, gpus
from autotune.figures.history import history
from autotune.figures.importance import importance
from autotune.figures.levels import LevelResult, levels
from autotune.figures.marks import FAILURE_MARKS, Figure, Trace, nothing_yet
from autotune.figures.night import Stay, boot_times, timeline
from autotune.figures.parallel import parallel
from autotune.figures.points import Point, SettingAxis
from autotune.figures.slices import setting_slice
from autotune.figures.tradeoff import tradeoff

__all__ = [
    "FAILURE_MARKS",
    "CardCurve",
    "Figure",
    "LevelResult",
    "Panel",
    "Point",
    "SettingAxis",
    "Stay",
    "Trace",
    "boot_times",
    "crash_map",
    "gpus",
    "history",
    "importance",
    "levels",
    "nothing_yet",
    "parallel",
    "setting_slice",
    "timeline",
    "tradeoff",
]
