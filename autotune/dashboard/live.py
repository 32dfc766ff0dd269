"""Server-sent events: a study's summary for programs, the changed parts of a page for browsers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from autotune.dashboard.source import StudySource
from autotune.dashboard.study_json import study_summary_json
from autotune.dashboard.watch import Watches
from autotune.liveness import run_state
from db.errors import StudyFileError

_ALIVE = ": still here\n\n"
IsGone = Callable[[], Awaitable[bool]]


async def study_events(source: StudySource, watches: Watches, is_gone: IsGone) -> AsyncIterator[str]:
    """Until nobody listens: ``study`` events with the summary, ``trouble`` events with a sentence."""
    watch = watches.of(("events", source.path), lambda: _summary_event(source))
    async for event in watch.follow(is_gone):
        yield event or _ALIVE


async def part_events(
    key: tuple[Any, ...], look: Callable[[], Mapping[str, Any]], watches: Watches, is_gone: IsGone
) -> AsyncIterator[str]:
    """``parts`` events with those parts of a page that changed, ``trouble`` events with a sentence.

    Args:
        look: All parts now, by the id of their element.
    """
    shown: dict[str, Any] = {}
    watch = watches.of(key, lambda: _parts_or_trouble(look))
    async for parts in watch.follow(is_gone):
        if parts is None:
            yield _ALIVE
            continue
        if "trouble" in parts:
            yield written("trouble", {"sentence": parts["trouble"]})
            continue
        yield written("parts", {name: part for name, part in parts.items() if shown.get(name) != part})
        shown = dict(parts)


def written(kind: str, data: Mapping[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"


def _parts_or_trouble(look: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    try:
        return look()
    except StudyFileError as error:
        return {"trouble": str(error)}


def _summary_event(source: StudySource) -> str:
    try:
        snapshot = source.snapshot()
    except StudyFileError as error:
        return written("trouble", {"sentence": str(error)})
    key = ("event", run_state(snapshot.last_run).word)
    return source.detail(
        key,
        lambda _: written(
            "study", {"generation": snapshot.generation, **study_summary_json(source.name, snapshot)}
        ),
    )
