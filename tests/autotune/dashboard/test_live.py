from __future__ import annotations

import asyncio
import json

import pytest

from autotune.dashboard import live
from autotune.dashboard.source import StudySource
from tests.db.nights import Night, completed


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autotune.dashboard.source.CHECK_INTERVAL_S", 0.0)
    monkeypatch.setattr(live, "CHECK_INTERVAL_S", 0.01)


async def _stays() -> bool:
    return False


def _parsed(event: str) -> tuple[str, dict[str, object]]:
    kind, data = event.strip().split("\n")
    return kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def test_an_event_comes_at_once_and_at_every_change(night: Night) -> None:
    async def follow() -> None:
        source = StudySource(night.path, "night")
        events = live.study_events(source, _stays)
        kind, first = _parsed(await anext(events))
        assert (kind, first["name"]) == ("study", "night")
        night.play(completed(82.0))
        kind, second = _parsed(await anext(events))
        assert second["best"]["throughput"]["tok_s"] == pytest.approx(82.0)  # type: ignore[index]
        source.close()

    asyncio.run(asyncio.wait_for(follow(), 20))


def test_a_quiet_stream_is_kept_alive(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "KEEP_ALIVE_S", 0.03)

    async def follow() -> None:
        source = StudySource(night.path, "night")
        events = live.study_events(source, _stays)
        await anext(events)
        assert (await anext(events)).startswith(":")
        source.close()

    asyncio.run(asyncio.wait_for(follow(), 20))


def test_a_file_that_cannot_be_read_is_an_event_too(night: Night) -> None:
    async def follow() -> None:
        source = StudySource(night.path.with_name("nothing.db"), "night")
        kind, data = _parsed(await anext(live.study_events(source, _stays)))
        assert (kind, "no such study file" in str(data["sentence"])) == ("trouble", True)

    asyncio.run(asyncio.wait_for(follow(), 20))


def test_the_stream_ends_with_its_listener(night: Night) -> None:
    async def gone() -> bool:
        return True

    async def follow() -> list[str]:
        return [event async for event in live.study_events(StudySource(night.path, "night"), gone)]

    assert asyncio.run(asyncio.wait_for(follow(), 20)) == []
