from __future__ import annotations

import shutil

import pytest
from fastapi.testclient import TestClient

from autotune.dashboard import source as source_module
from autotune.dashboard.source import StudySource
from db.journal import Journal
from tests.db.nights import Night, another_process_renames, completed, settings_failed


def test_polling_reads_the_study_only_after_a_change(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "CHECK_INTERVAL_S", 0.0)
    source = StudySource(night.path, "night")
    first = source.snapshot()
    assert source.snapshot() is first
    night.play(completed(82.0))
    second = source.snapshot()
    assert second.generation == first.generation + 1
    assert len(second.study.rows) == 1
    assert source.snapshot() is second
    source.close()


def test_details_are_kept_until_a_change(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "CHECK_INTERVAL_S", 0.0)
    source = StudySource(night.path, "night")
    reads: list[int] = []
    for _ in range(3):
        source.detail("thing", lambda _: reads.append(1))
    assert len(reads) == 1
    night.journal.notice("something new")
    source.detail("thing", lambda _: reads.append(1))
    assert len(reads) == 2
    source.close()


def test_between_two_checks_the_file_is_left_alone(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "CHECK_INTERVAL_S", 3600.0)
    source = StudySource(night.path, "night")
    source.snapshot()
    source.snapshot()
    night.play(completed(82.0))
    assert source.snapshot().study.rows == []
    source.close()


def test_a_new_trial_is_on_the_next_answer(night: Night, own_page: TestClient) -> None:
    assert own_page.get("/api/studies/night/trials").json() == []
    night.play(completed(82.0))
    assert [trial["tok_s"] for trial in own_page.get("/api/studies/night/trials").json()] == [82.0]


def test_a_vanished_file_is_said_and_its_return_noticed(night: Night, own_page: TestClient) -> None:
    night.play(completed(82.0))
    night.close()
    hidden = night.path.with_name("hidden")
    assert own_page.get("/api/studies/night").status_code == 200
    night.path.rename(hidden)
    assert own_page.get("/api/studies/night").status_code in (404, 503)
    hidden.rename(night.path)
    assert own_page.get("/api/studies/night").status_code == 200


def test_a_file_that_was_replaced_is_read_anew(night: Night, own_page: TestClient) -> None:
    night.play(completed(82.0))
    night.close()
    other = Night(night.path.parent.parent / "other" / "study.db")
    other.play(settings_failed())
    other.play(settings_failed())
    other.close()
    assert len(own_page.get("/api/studies/night/trials").json()) == 1
    for suffix in ("-wal", "-shm"):
        night.path.with_name(night.path.name + suffix).unlink(missing_ok=True)
    copied = night.path.with_name("new")
    shutil.copy(other.path, copied)
    copied.rename(night.path)
    assert len(own_page.get("/api/studies/night/trials").json()) == 2


def test_a_log_that_was_taken_away_is_noticed(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "CHECK_INTERVAL_S", 0.0)
    night.close()
    source = StudySource(night.path, "night")
    assert source.snapshot().study.card.name == "night"
    for log in night.path.parent.glob("study.db-*"):
        log.unlink()
    another_process_renames(night.path, "seen")
    assert source.snapshot().study.card.name == "seen"
    source.close()


def test_a_study_that_is_just_being_made_is_one_sentence(own_page: TestClient, night: Night) -> None:
    with Journal.open(night.path.parent.parent / "young" / "study.db", create=True):
        detail = own_page.get("/api/studies/young").json()["detail"]
    assert detail.endswith("its first run has not begun yet")
