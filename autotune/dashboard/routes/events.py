"""Live changes as server-sent events."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from autotune.dashboard.live import study_events
from autotune.dashboard.routes.shared import TheStudy

router = APIRouter(prefix="/api/studies/{name}/events", tags=["events"])


@router.get("", response_class=StreamingResponse)
async def follow(source: TheStudy, request: Request) -> StreamingResponse:
    """``study`` events with the summary at every change, ``trouble`` events when the file cannot be read."""
    events = study_events(source, request.is_disconnected)
    return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
