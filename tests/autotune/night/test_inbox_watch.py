"""Stop requests reach the run that they were meant for, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.night.inbox_watch import InboxWatch
from autotune.night.stop_requests import StopRequests
from db import inbox, queries
from tests.db.nights import Night


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    night = Night(tmp_path / "study.db")
    yield night
    night.close()


def _answers(night: Night) -> list[str | None]:
    with night.journal.engine.connect() as connection:
        return [row.answer for row in queries.requests(connection)]


def test_a_stop_left_for_an_earlier_run_does_not_stop_this_one(night: Night) -> None:
    inbox.stop_now(night.path)
    inbox.try_settings(night.path, {"mem_fraction_static": 0.8})
    requests = StopRequests()
    with InboxWatch(night.journal, requests) as watch:
        watch.look()
    assert not requests.any
    assert _answers(night) == ["nobody ran the study then", None]


def test_a_stop_is_answered_once_it_is_heard(night: Night) -> None:
    requests = StopRequests()
    with InboxWatch(night.journal, requests) as watch:
        inbox.stop_after_trial(night.path)
        watch.look()
    assert requests.after_trial.is_set()
    assert not requests.now.is_set()
    assert _answers(night) == ["stopping after the running trial"]


def test_a_withdrawn_request_waits_no_longer_and_an_answer_is_kept(night: Night) -> None:
    first, second = inbox.stop_now(night.path), inbox.stop_now(night.path)
    inbox.withdraw(night.path, second, "the run had ended by itself")
    assert [request.id for request in inbox.waiting(night.journal.engine)] == [first]
    inbox.withdraw(night.path, second, "another word")
    assert _answers(night) == [None, "the run had ended by itself"]
