from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest

from autotune.dashboard import live, watch
from autotune.dashboard.source import StudySource
from autotune.dashboard.study_parts import study_parts
from autotune.dashboard.watch import Watches
from tests.db.nights import Night, completed


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autotune.dashboard.source.CHECK_INTERVAL_S", 0.0)
    monkeypatch.setattr(watch, "LOOK_EVERY_S", 0.01)


async def _stays() -> bool:
    return False


def _parsed(event: str) -> tuple[str, dict[str, Any]]:
    kind, data = event.strip().split("\n")
    return kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def _run(following: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(following, 20))


def _parts(source: StudySource, watches: Watches) -> AsyncIterator[str]:
    return live.part_events(("study",), lambda: study_parts(source, 1, may_act=False), watches, _stays)


def test_an_event_comes_at_once_and_at_every_change(night: Night) -> None:
    async def follow() -> None:
        source = StudySource(night.path, "night")
        events = live.study_events(source, Watches(), _stays)
        kind, first = _parsed(await anext(events))
        assert (kind, first["name"]) == ("study", "night")
        night.play(completed(82.0))
        kind, second = _parsed(await anext(events))
        while second["best"]["throughput"] is None:
            kind, second = _parsed(await anext(events))
        assert second["best"]["throughput"]["tok_s"] == pytest.approx(82.0)
        source.close()

    _run(follow())


def test_a_quiet_stream_is_kept_alive(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "KEEP_ALIVE_S", 0.03)

    async def follow() -> None:
        source = StudySource(night.path, "night")
        events = live.study_events(source, Watches(), _stays)
        seen: set[str] = set()
        while seen != {"event", ""}:
            seen.add((await anext(events)).partition(":")[0])
        source.close()

    _run(follow())


def test_a_file_that_cannot_be_read_is_an_event_too(night: Night) -> None:
    async def follow() -> None:
        source = StudySource(night.path.with_name("nothing.db"), "night")
        kind, data = _parsed(await anext(live.study_events(source, Watches(), _stays)))
        assert (kind, "no such study file" in str(data["sentence"])) == ("trouble", True)

    _run(follow())


def test_the_stream_ends_with_its_listener(night: Night) -> None:
    async def gone() -> bool:
        return True

    async def follow() -> list[str]:
        source = StudySource(night.path, "night")
        return [event async for event in live.study_events(source, Watches(), gone)]

    assert _run(follow()) == []


def test_a_page_gets_all_parts_at_first_and_then_what_changed(night: Night) -> None:
    async def follow() -> None:
        source = StudySource(night.path, "night")
        events = _parts(source, Watches())
        kind, first = _parsed(await anext(events))
        assert kind == "parts"
        assert {"title", "best", "now", "plan", "events", "tail", "table"} <= set(first)
        night.journal.notice("something new")
        _, second = _parsed(await anext(events))
        assert set(second) == {"events"}
        assert "something new" in second["events"]
        source.close()

    _run(follow())


def test_the_table_is_asked_for_again_only_when_a_trial_changed(night: Night) -> None:
    async def follow() -> None:
        source = StudySource(night.path, "night")
        events = _parts(source, Watches())
        version = _parsed(await anext(events))[1]["table"]
        night.play(completed(82.0))
        changed: dict[str, Any] = {}
        while "table" not in changed or "82.0" not in changed.get("best", ""):
            changed |= _parsed(await anext(events))[1]
        assert changed["table"] > version
        source.close()

    _run(follow())


def test_many_followers_cost_one_look() -> None:
    looks: list[int] = []

    def look() -> str:
        looks.append(1)
        return "the same"

    async def follow() -> None:
        watches = Watches()
        streams = [watches.of("thing", look).follow(_stays) for _ in range(20)]
        assert [await anext(stream) for stream in streams] == ["the same"] * 20
        assert watches.of("thing", look).followers == 20
        for stream in streams:
            await stream.aclose()  # type: ignore[attr-defined]  # a generator, typed as what it is used as
        assert watches.of("thing", look).followers == 0

    _run(follow())
    assert len(looks) <= 3


def test_a_look_that_fails_is_tried_again() -> None:
    answers = iter([ZeroDivisionError(), "well again"])

    def look() -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def follow() -> str | None:
        return await anext(Watches().of("thing", look).follow(_stays))

    assert _run(follow()) == "well again"
