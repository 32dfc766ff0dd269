"""Trials as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, HTTPException

from autotune.dashboard.logs import LogPage, find_log, read_log_page
from autotune.dashboard.pictures import gpu_figure
from autotune.dashboard.routes.shared import TheStudy, existing
from autotune.dashboard.source import StudySource
from autotune.dashboard.trial_json import trial_detail_json, trials_json
from db import queries
from db.rows import GpuSampleRow

router = APIRouter(prefix="/api/studies/{name}/trials", tags=["trials"])


@router.get("")
def list_trials(source: TheStudy) -> list[dict[str, Any]]:
    """Every trial that began, in order."""
    return source.detail("trials", lambda _: trials_json(source.snapshot()))


@router.get("/{number}")
def show_trial(source: TheStudy, number: int) -> dict[str, Any]:
    """All that is known about a trial."""
    return existing(trial_detail(source, number), number)


@router.get("/{number}/gpus")
def show_gpus(source: TheStudy, number: int) -> list[dict[str, Any]]:
    """GPU samples of a trial, oldest first."""
    return [asdict(sample) for sample in gpu_samples(source, number)]


@router.get("/{number}/figures/gpus")
def draw_gpus(source: TheStudy, number: int) -> dict[str, Any]:
    """GPU memory of a trial as a Plotly figure."""
    snapshot = source.snapshot()
    row = snapshot.row(number)
    if row is None:
        raise HTTPException(404, f"the study has no trial {number}")
    return gpu_figure(gpu_samples(source, number), row, simulated=snapshot.study.card.simulated)


@router.get("/{number}/log")
def show_log(source: TheStudy, number: int, end: int | None = None) -> dict[str, Any]:
    """A page of the server's log that ends at byte ``end``; left out, its last page."""
    page = log_page(source, number, end)
    if page is None:
        raise HTTPException(404, f"trial {number} has no log")
    return asdict(page)


def gpu_samples(source: StudySource, number: int) -> list[GpuSampleRow]:
    return source.detail(("gpus", number), lambda connection: queries.gpu_samples(connection, number))


def trial_detail(source: StudySource, number: int) -> dict[str, Any] | None:
    return source.detail(
        ("trial", number), lambda connection: trial_detail_json(source.snapshot(), connection, number)
    )


def log_page(source: StudySource, number: int, end: int | None) -> LogPage | None:
    """A page of a trial's log, None when there is none (any more)."""
    row = source.snapshot().row(number)
    path = find_log(source.folder / row.folder) if row and row.folder else None
    try:
        return read_log_page(path, end) if path else None
    except OSError:
        return None
