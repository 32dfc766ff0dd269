"""What every route needs: the library, a study by its name, and JSON without detours."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Request

from autotune.dashboard.library import Library
from autotune.dashboard.source import StudySource


def library_of(request: Request) -> Library:
    library: Library = request.app.state.library
    return library


def source_of(name: str, request: Request) -> StudySource:
    return library_of(request).source(name)


TheLibrary = Annotated[Library, Depends(library_of)]
TheStudy = Annotated[StudySource, Depends(source_of)]


def existing(thing: dict[str, object] | None, number: int) -> dict[str, object]:
    """A trial that is there.

    Raises:
        HTTPException: 404 when it is None.
    """
    if thing is None:
        raise HTTPException(404, f"the study has no trial {number}")
    return thing


def measured_level(source: StudySource, level: int | None) -> int:
    """A level that the study measures; left out, the main one.

    Raises:
        HTTPException: 404 for any other.
    """
    bench = source.snapshot().study.bench
    if level is None:
        return bench.main_level
    if level not in bench.levels:
        known = ", ".join(map(str, bench.levels))
        raise HTTPException(404, f"the study has no level {level}; it measures {known}")
    return level
