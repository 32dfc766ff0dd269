"""Server-sent events: a study's summary whenever its file has changed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.concurrency import run_in_threadpool

from autotune.dashboard.source import StudySource
from autotune.dashboard.study_json import study_summary_json
from db.errors import StudyFileError

CHECK_INTERVAL_S = 0.5
KEEP_ALIVE_S = 15.0
"""A comment as often as this keeps proxies from closing a quiet stream, s."""


async def study_events(
    source: StudySource, is_disconnected: Callable[[], Awaitable[bool]]
) -> AsyncIterator[str]:
    """Until nobody listens: ``study`` events with the summary, ``trouble`` events with a sentence."""
    last = ""
    quiet_s = 0.0
    while not await is_disconnected():
        event = await run_in_threadpool(_event, source)
        if event != last:
            yield event
            last, quiet_s = event, 0.0
        elif quiet_s >= KEEP_ALIVE_S:
            yield ": still here\n\n"
            quiet_s = 0.0
        await asyncio.sleep(CHECK_INTERVAL_S)
        quiet_s += CHECK_INTERVAL_S


def _event(source: StudySource) -> str:
    try:
        snapshot = source.snapshot()
    except StudyFileError as error:
        return _written("trouble", {"sentence": str(error)})
    return _written("study", {"generation": snapshot.generation, **study_summary_json(source.name, snapshot)})


def _written(kind: str, data: dict[str, object]) -> str:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"
