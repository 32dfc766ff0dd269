"""A run that cannot go on says so in one sentence; an error of ours is written down and passes through."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import OperationalError

from autotune.night.ending import run_to_end
from autotune.night.loop import DONE, FAILED, NightResult
from db import queries
from db.errors import StudyFileError
from db.journal import Journal

_FULL = OperationalError("INSERT", {}, Exception("database or disk is full"))


def _internal() -> StorageInternalError:
    error = StorageInternalError("An exception is raised during the commit.")
    error.__cause__ = _FULL
    return error


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path / "study.db", create=True) as opened:
        opened.begin_run(pid=1, boot_id="", process_started=0.0)
        yield opened


def _how(journal: Journal) -> str | None:
    with journal.engine.connect() as connection:
        return queries.runs(connection)[-1].how


def _raises(error: BaseException) -> NightResult:
    raise error


def test_a_plain_end_is_written_down(journal: Journal) -> None:
    assert run_to_end(journal, lambda: NightResult(DONE, "all done")).exit_code == DONE
    assert _how(journal) == "all done"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StudyFileError("study.db: the study cannot be written: database is locked"), "database is locked"),
        (_internal(), "(database or disk is full)"),
        (_FULL, "(database or disk is full)"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
    ],
)
def test_a_study_that_cannot_be_written_ends_the_night(
    journal: Journal, error: Exception, reason: str
) -> None:
    result = run_to_end(journal, lambda: _raises(error))
    assert result.exit_code == FAILED
    assert reason in result.sentence
    assert "start the same study again" in result.sentence
    assert _how(journal) == result.sentence


@pytest.mark.parametrize("error", [ValueError("odd"), BrokenPipeError(errno.EPIPE, "Broken pipe")])
def test_an_error_of_ours_is_written_down_and_raised(journal: Journal, error: Exception) -> None:
    with pytest.raises(type(error)):
        run_to_end(journal, lambda: _raises(error))
    how = _how(journal)
    assert how is not None
    assert how.startswith(f"autotune failed: {type(error).__name__}")


def test_an_end_that_cannot_be_written_is_still_an_end(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(how: str) -> None:
        raise StudyFileError("the disk is full")

    monkeypatch.setattr(journal, "end_run", refuse)
    assert run_to_end(journal, lambda: NightResult(DONE, "all done")).sentence == "all done"
