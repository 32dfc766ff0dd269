"""What every route needs: the library, a study by its name, and JSON without detours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request
from fastapi.responses import StreamingResponse

from autotune.dashboard.library import Library
from autotune.dashboard.source import StudySource
from autotune.dashboard.watch import Watches


def library_of(request: Request) -> Library:
    library: Library = request.app.state.library
    return library


def watches_of(request: Request) -> Watches:
    watches: Watches = request.app.state.watches
    return watches


def source_of(name: str, request: Request) -> StudySource:
    return library_of(request).source(name)


def may_act(request: Request) -> bool:
    """Whether the request came with the token."""
    return bool(request.state.may_act)


TheLibrary = Annotated[Library, Depends(library_of)]
TheStudy = Annotated[StudySource, Depends(source_of)]
TheWatches = Annotated[Watches, Depends(watches_of)]
MayAct = Annotated[bool, Depends(may_act)]


def existing(thing: dict[str, Any] | None, number: int) -> dict[str, Any]:
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


def event_stream(events: AsyncIterator[str]) -> StreamingResponse:
    return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
