from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from autotune import study_view
from autotune.study_view import StudyReading
from db import inbox
from db.engine import open_reader
from tests.db.nights import Night, completed, settings_failed


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    night = Night(tmp_path / "study.db")
    yield night
    night.close()


@pytest.fixture
def connection(night: Night) -> Iterator[Connection]:
    with open_reader(night.path) as reader, reader.connect() as connection:
        yield connection


def test_a_study_that_did_not_change_is_the_same_object(night: Night, connection: Connection) -> None:
    night.play(completed(80.0))
    night.begin()
    reading = StudyReading()
    first = reading.read(connection)
    night.journal.notice("no trial changed")
    assert reading.read(connection) is first


def test_told_trials_are_read_once(
    night: Night, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    view = study_view._view
    monkeypatch.setattr(study_view, "_view", lambda row, *a: read.append(row.number) or view(row, *a))
    reading = StudyReading()
    night.play(completed(80.0))
    night.play(settings_failed())
    reading.read(connection)
    night.play(completed(90.0))
    study = reading.read(connection)
    assert read == [0, 1, 2]
    assert [row.number for row in study.rows] == [0, 1, 2]
    assert study.verdict().best == 0
    assert study.trials[2].worked


def test_a_running_trial_is_read_until_it_is_told(night: Night, connection: Connection) -> None:
    reading = StudyReading()
    trial = night.begin()
    assert reading.read(connection).rows[0].outcome is None
    night.journal.finish_trial(0, completed(80.0), main_level=1)
    assert reading.read(connection).rows[0].outcome == "completed"
    night.finish(trial, completed(80.0))
    study = reading.read(connection)
    assert study.trials[0].worked
    assert reading.read(connection) is study


def test_a_trial_that_stays_open_holds_back_only_those_after_it(night: Night, connection: Connection) -> None:
    reading = StudyReading()
    night.begin()
    night.play(completed(80.0))
    assert [row.number for row in reading.read(connection).rows] == [0, 1]
    night.play(completed(81.0))
    assert [row.number for row in reading.read(connection).rows] == [0, 1, 2]


def test_suspicion_and_pins_are_noticed_on_told_trials(night: Night, connection: Connection) -> None:
    reading = StudyReading()
    night.play(completed(80.0))
    night.play(settings_failed())
    assert not reading.read(connection).trials[1].suspect
    night.study.set_user_attr("suspects", [1])
    assert reading.read(connection).trials[1].suspect
    inbox.pin_baseline(night.path, 0)
    assert reading.read(connection).verdict().baseline == 0
