"""How a running night is put into words, on a live terminal and in plain lines alike."""

from __future__ import annotations

import re
from collections.abc import Iterable

from autotune.verdict import streams
from trials.outcome import (
    AnyOutcome,
    Completed,
    EnvironmentFailed,
    Interrupted,
    Measurement,
    SettingsFailed,
    Stage,
    Stopped,
)

STAGES: dict[Stage, str] = {
    Stage.ARGUMENTS: "reading arguments",
    Stage.START: "starting",
    Stage.INIT_DISTRIBUTED: "connecting the GPUs",
    Stage.LOAD_WEIGHTS: "loading weights",
    Stage.KV_POOL: "laying out the KV pool",
    Stage.GRAPH_CAPTURE: "capturing graphs",
    Stage.WARM_UP: "warming up",
    Stage.READY: "ready",
    Stage.MEASURE: "measuring",
    Stage.CHECK: "checking the answers",
    Stage.STOP: "stopping",
}


def duration(seconds: float) -> str:
    """``42 s``, ``12 min``, ``3 h 05 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"


def place_words(number: int, place: int, planned: int | None) -> str:
    of = f" of {planned}" if planned is not None else ""
    return f"trial {number} ({place}{of})"


def measured_words(measured: Measurement, simulated: bool) -> str:
    """A throughput with its unit, level and uncertainty; an imagined one says so in its unit."""
    interval = measured.decode_tok_s_ci95
    sure = f" (95 % {interval[0]:.1f} to {interval[1]:.1f})" if interval else " (no interval)"
    capped = f", of which {measured.running} ran" if measured.capped else ""
    return f"{throughput_words(measured.decode_tok_s, simulated)}{sure} at {streams(measured.level)}{capped}"


def throughput_words(tok_s: float, simulated: bool) -> str:
    return f"{tok_s:.1f} simulated tok/s" if simulated else f"{tok_s:.1f} tok/s"


def outcome_words(outcome: AnyOutcome, simulated: bool) -> str:
    """How a trial ended, in one line."""
    levels = "; ".join(measured_words(measured, simulated) for measured in outcome.measurements)
    match outcome:
        case Completed():
            return levels
        case Stopped():
            return f"given up, cannot win: {levels}" if levels else "given up, cannot win"
        case SettingsFailed(failure=failure) | EnvironmentFailed(failure=failure):
            blame = "" if isinstance(outcome, SettingsFailed) else ", the machine is at fault"
            return f"{failure.kind} at {failure.stage}{blame}: {failure.summary}"
        case Interrupted():
            return "interrupted"


def outcome_style(outcome: AnyOutcome) -> str:
    if isinstance(outcome, Completed):
        return "green"
    return "yellow" if isinstance(outcome, Stopped | Interrupted) else "red"


class News:
    """Lets each warning through once in a night, whatever the numbers in it."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def fresh(self, warnings: Iterable[str]) -> list[str]:
        """Those that have not been said before."""
        said = []
        for warning in warnings:
            kind = re.sub(r"\d+", "N", warning)
            if kind not in self._known:
                self._known.add(kind)
                said.append(warning)
        return said
