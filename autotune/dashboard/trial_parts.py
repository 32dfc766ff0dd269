"""The parts of a trial's page that change while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autotune.dashboard.logs import LogPage, find_log, read_log_around, read_log_page
from autotune.dashboard.pages import rendered
from autotune.dashboard.source import StudySource
from autotune.dashboard.study_json import study_summary_json
from autotune.dashboard.trial_json import trial_detail_json
from db import queries
from db.rows import GpuSampleRow

TRIAL_PARTS = ("title", "result", "stages", "remarks", "commands")


def trial_parts(source: StudySource, number: int, *, may_act: bool) -> dict[str, Any]:
    """Every part by the id of its element; ``log`` is the log's length, ``gpus`` the number of samples."""
    context = trial_context(source, number, may_act=may_act)
    if context is None:
        return {}
    parts = {name: rendered(f"trial/{name}.html", **context) for name in TRIAL_PARTS}
    path = log_file(source, number)
    size = path.stat().st_size if path and path.suffix != ".gz" else None
    return {**parts, "log": size, "gpus": len(gpu_samples(source, number))}


def trial_context(source: StudySource, number: int, *, may_act: bool) -> dict[str, Any] | None:
    """What the templates of a trial's page need, None when there is no such trial."""
    trial = trial_detail(source, number)
    if trial is None:
        return None
    return {
        "study": study_summary_json(source.name, source.snapshot()),
        "trial": trial,
        "is_running": trial["outcome"] == "running",
        "may_act": may_act,
    }


def trial_detail(source: StudySource, number: int) -> dict[str, Any] | None:
    return source.detail(
        ("trial", number), lambda connection: trial_detail_json(source.snapshot(), connection, number)
    )


def gpu_samples(source: StudySource, number: int) -> list[GpuSampleRow]:
    """Samples of a trial, kept for as long as nothing about the study changes."""
    return source.detail(("gpus", number), lambda connection: queries.gpu_samples(connection, number))


def log_file(source: StudySource, number: int) -> Path | None:
    """A trial's log, None when there is none (any more)."""
    row = source.snapshot().row(number)
    return find_log(source.folder / row.folder) if row and row.folder else None


def log_page(source: StudySource, number: int, end: int | None, line: int | None = None) -> LogPage | None:
    """A page of a trial's log that ends at ``end`` or holds ``line``, None when there is no log."""
    path = log_file(source, number)
    try:
        if path is None:
            return None
        return read_log_page(path, end) if line is None else read_log_around(path, line)
    except OSError:
        return None
