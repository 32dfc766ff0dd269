"""Live changes as server-sent events: of a study for programs, of pages for browsers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from autotune.dashboard.live import part_events, study_events
from autotune.dashboard.pages import rendered
from autotune.dashboard.routes.shared import (
    MayAct,
    TheLibrary,
    TheStudy,
    TheWatches,
    event_stream,
    existing,
    measured_level,
)
from autotune.dashboard.study_parts import study_parts
from autotune.dashboard.summaries import all_summaries
from autotune.dashboard.trial_parts import trial_detail, trial_parts

router = APIRouter(tags=["events"])


@router.get("/api/studies/{name}/events", response_class=StreamingResponse)
async def follow(source: TheStudy, watches: TheWatches, request: Request) -> StreamingResponse:
    """``study`` events with the summary at every change, ``trouble`` events when the file cannot be read."""
    return event_stream(study_events(source, watches, request.is_disconnected))


@router.get("/live", include_in_schema=False)
async def follow_studies(library: TheLibrary, watches: TheWatches, request: Request) -> StreamingResponse:
    def look() -> dict[str, Any]:
        return {"studies": rendered("studies_list.html", studies=all_summaries(library))}

    return event_stream(part_events(("studies",), look, watches, request.is_disconnected))


@router.get("/studies/{name}/live", include_in_schema=False)
async def follow_study(
    source: TheStudy, watches: TheWatches, may_act: MayAct, request: Request, level: int | None = None
) -> StreamingResponse:
    def look() -> dict[str, Any]:
        return study_parts(source, measured_level(source, level), may_act=may_act)

    key = ("study", source.path, level, may_act)
    return event_stream(part_events(key, look, watches, request.is_disconnected))


@router.get("/studies/{name}/trials/{number}/live", include_in_schema=False)
async def follow_trial(
    source: TheStudy, number: int, watches: TheWatches, may_act: MayAct, request: Request
) -> StreamingResponse:
    existing(trial_detail(source, number), number)

    def look() -> dict[str, Any]:
        return trial_parts(source, number, may_act=may_act)

    key = ("trial", source.path, number, may_act)
    return event_stream(part_events(key, look, watches, request.is_disconnected))
