"""Studies as JSON."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from autotune.dashboard.library import Library
from autotune.dashboard.pictures import history_figure
from autotune.dashboard.routes.shared import TheLibrary, TheStudy, measured_level
from autotune.dashboard.study_json import best_json, study_json, study_summary_json
from db.errors import StudyFileError

router = APIRouter(prefix="/api/studies", tags=["studies"])


@router.get("")
def list_studies(library: TheLibrary) -> list[dict[str, Any]]:
    """Every study, most recently changed first; one that cannot be read says why under ``trouble``."""
    return [summary_or_trouble(library, name) for name in library.names()]


@router.get("/{name}")
def show_study(source: TheStudy) -> dict[str, Any]:
    """State, plan, running trial, best, events."""
    return study_json(source.name, source.snapshot())


@router.get("/{name}/best")
def show_best(source: TheStudy, level: int | None = None) -> dict[str, Any]:
    """The verdict at a level; left out, the main one."""
    return best_json(source.snapshot(), measured_level(source, level))


@router.get("/{name}/figures/history")
def show_history(source: TheStudy, level: int | None = None) -> dict[str, Any]:
    """The optimisation history as a Plotly figure."""
    level = measured_level(source, level)
    return source.detail(("history", level), lambda _: history_figure(source.snapshot(), level))


def summary_or_trouble(library: Library, name: str) -> dict[str, Any]:
    try:
        return study_summary_json(name, library.source(name).snapshot())
    except StudyFileError as error:
        return {"name": name, "trouble": str(error)}
