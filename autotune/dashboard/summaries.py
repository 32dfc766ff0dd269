"""All studies in one line each."""

from __future__ import annotations

from typing import Any

from autotune.dashboard.library import Library
from autotune.dashboard.study_json import study_summary_json
from autotune.liveness import run_state
from db.errors import StudyFileError


def all_summaries(library: Library) -> list[dict[str, Any]]:
    """Most recently changed first."""
    return [summary_or_trouble(library, name) for name in library.names()]


def summary_or_trouble(library: Library, name: str) -> dict[str, Any]:
    """A study's summary, or under ``trouble`` why it cannot be read."""
    try:
        source = library.source(name)
        snapshot = source.snapshot()
        key = ("summary", run_state(snapshot.last_run).word)
        return source.detail(key, lambda _: study_summary_json(name, snapshot))
    except StudyFileError as error:
        return {"name": name, "trouble": str(error)}
