from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import OperationalError

from db import inbox, queries
from db.engine import (
    StudyReader,
    checkpoint,
    copy_study,
    data_version,
    is_sqlite,
    open_reader,
    open_storage,
    open_writer,
    reason_of,
)
from db.errors import StudyFileError, StudyWriteError
from db.journal import Journal
from db.studies import find_study, list_studies
from tests.db.nights import Night, another_process_renames, completed


def _numbers(reader: StudyReader) -> list[int]:
    with reader.connect() as connection:
        return [row.number for row in queries.trials(connection)]


def test_a_change_by_a_writer_is_noticed(night: Night) -> None:
    with open_reader(night.path) as reader, reader.connect() as connection:
        before = data_version(connection)
        assert data_version(connection) == before
        night.journal.notice("a new best")
        assert data_version(connection) != before


def test_a_reader_cannot_write(night: Night) -> None:
    with (
        open_reader(night.path) as reader,
        reader.connect() as connection,
        pytest.raises(OperationalError, match="readonly"),
    ):
        connection.exec_driver_sql("DELETE FROM autotune_study")


def test_after_a_trial_the_file_alone_is_whole(night: Night, tmp_path: Path) -> None:
    night.play(completed(82.0))
    night.journal.end_run("done")
    night.journal.checkpoint()
    copied = tmp_path / "copied.db"
    shutil.copy(night.path, copied)
    with open_reader(copied) as reader:
        assert reader.caveat is None
        assert _numbers(reader) == [0]


def test_a_file_copied_without_its_wal_says_so_every_time(night: Night, tmp_path: Path) -> None:
    night.play(completed(82.0))
    night.begin()
    copied = tmp_path / "copied.db"
    shutil.copy(night.path, copied)
    for _ in range(2):
        with open_reader(copied) as reader:
            assert reader.caveat is not None
            assert "copied.db-wal" in reader.caveat
            assert _numbers(reader) == [0]
    assert not copied.with_name("copied.db-wal").exists()


def test_a_running_study_is_read_without_a_caveat_right_after_a_checkpoint(night: Night) -> None:
    night.play(completed(82.0))
    with open_reader(night.path) as reader:
        assert reader.caveat is None


def test_a_frozen_reader_knows_when_a_runner_came_back(night: Night, tmp_path: Path) -> None:
    night.play(completed(82.0))
    copied = tmp_path / "study" / "study.db"
    copied.parent.mkdir()
    shutil.copy(night.path, copied)
    with open_reader(copied) as reader:
        opened = reader.what_is_there()
        assert reader.what_is_there() == opened
        engine = open_writer(copied)
        with engine.connect():
            assert reader.what_is_there() != opened
        engine.dispose()


def test_a_frozen_reader_knows_that_somebody_wrote_and_left(night: Night) -> None:
    night.close()
    with open_reader(night.path) as reader:
        opened = reader.what_is_there()
        another_process_renames(night.path, "changed")
        assert not night.path.with_name("study.db-wal").exists()
        assert reader.what_is_there() != opened


def test_a_copy_taken_while_a_trial_is_written_is_whole(night: Night, tmp_path: Path) -> None:
    night.play(completed(82.0))
    night.begin()
    copied = tmp_path / "copied.db"
    copy_study(night.path, copied)
    with open_reader(copied) as reader:
        assert reader.caveat is None
        assert _numbers(reader) == [0, 1]
    with pytest.raises(StudyFileError, match="a file is there already"):
        copy_study(night.path, copied)
    with pytest.raises(StudyFileError, match="could not be copied there"):
        copy_study(night.path, tmp_path / "no such folder" / "copied.db")


def test_looking_at_an_open_study_keeps_its_locks(night: Night) -> None:
    """Without them the next process to leave would take the write-ahead log away from under the runner."""
    before = (log := night.path.with_name("study.db-wal")).stat().st_ino
    open_storage(night.path)
    open_reader(night.path).close()
    open_writer(night.path).dispose()
    assert is_sqlite(night.path)
    another_process_renames(night.path, "changed")
    assert log.stat().st_ino == before


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"", "the study file is empty"),
        (b"PK\x03\x04 not a database at all", "no SQLite database"),
        (b"SQLite format 3\0" + b"\xff" * 4096, "no SQLite database"),
    ],
)
def test_junk_is_named(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "study.db"
    path.write_bytes(content)
    with pytest.raises(StudyFileError, match=sentence):
        open_reader(path)
    with pytest.raises(StudyFileError, match=sentence):
        open_writer(path)
    assert path.read_bytes() == content


def test_a_half_file_is_named(night: Night, tmp_path: Path) -> None:
    night.play(completed(82.0))
    half = tmp_path / "half.db"
    half.write_bytes(night.path.read_bytes()[:6000])
    with pytest.raises(StudyFileError, match="cannot be read"):
        open_reader(half)


def test_damage_that_shows_only_later_is_named(night: Night, tmp_path: Path) -> None:
    for _ in range(20):
        night.play(completed(82.0))
    checkpoint(night.journal.engine)
    damaged = tmp_path / "damaged.db"
    content = bytearray(night.path.read_bytes())
    content[8192:] = bytes(len(content) - 8192)
    damaged.write_bytes(content)
    for engine in (lambda: open_reader(damaged).engine, lambda: open_writer(damaged)):
        with pytest.raises(StudyFileError, match=r"damaged\.db: the study file cannot be read"):
            queries.trials(engine().connect())
    with pytest.raises(StudyFileError, match="cannot be read"):
        copy_study(damaged, tmp_path / "copied.db")
    assert not (tmp_path / "copied.db").exists()


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    with pytest.raises(StudyFileError, match="another program"):
        open_writer(path, create=True)
    with pytest.raises(StudyFileError, match="another program"):
        open_reader(path)


def test_a_plain_optuna_study_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    optuna.create_study(storage=f"sqlite:///{path}")
    with pytest.raises(StudyFileError, match="an Optuna study that autotune did not make"):
        open_reader(path)


def test_a_newer_autotunes_study_is_refused(night: Night) -> None:
    with night.journal.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE autotune_alembic_version SET version_num = '9000'")
    for open_it in (open_reader, open_writer):
        with pytest.raises(StudyFileError, match="newer autotune"):
            open_it(night.path)


def test_a_missing_file_is_not_made_by_a_request(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with pytest.raises(StudyFileError, match="no such study file"):
        inbox.stop_now(path)
    with pytest.raises(StudyFileError, match="no such study file"):
        open_reader(path)
    assert not path.exists()


def test_a_request_for_a_trial_that_is_not_there_is_refused(night: Night) -> None:
    with pytest.raises(StudyFileError, match="has no trial 12"):
        inbox.pin_baseline(night.path, 12)


def test_a_checkpoint_empties_the_wal(night: Night) -> None:
    night.journal.notice("hello")
    wal = night.path.with_name("study.db-wal")
    assert wal.stat().st_size > 0
    assert checkpoint(night.journal.engine)
    assert wal.stat().st_size == 0


def test_studies_are_found_by_name_folder_file_or_recency(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    studies = night.path.parent.parent
    older = Night(studies / "older" / "study.db")
    older.close()
    os.utime(older.path, (1, 1))
    night.journal.notice("the newest write stands in the wal")
    os.utime(night.path, (0, 0))
    assert list_studies(studies) == [night.path, older.path]
    assert find_study(None, studies) == night.path
    assert find_study("older", studies) == older.path
    assert find_study(str(older.path.parent), studies) == older.path
    assert find_study(str(older.path), studies) == older.path
    with pytest.raises(StudyFileError, match="no study of this name"):
        find_study("nosuch", studies)
    with pytest.raises(StudyFileError, match="there is no study in this folder"):
        find_study(None, studies / "older")


def test_a_full_disk_is_one_sentence_and_costs_nothing_that_was_written(night: Night) -> None:
    night.play(completed(82.0))
    with night.journal.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    too_much = "x" * 4_000_000
    with pytest.raises(
        StudyFileError, match=r"study\.db: the study cannot be written: database or disk is full"
    ):
        night.journal.notice(too_much)
    with open_reader(night.path) as reader:
        assert _numbers(reader) == [0]


def test_a_file_that_stays_locked_is_one_sentence(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("db.engine.BUSY_TIMEOUT_S", 0.05)
    with sqlite3.connect(night.path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StudyFileError, match="cannot be written: database is locked"):
            inbox.stop_now(night.path)
        other.execute("ROLLBACK")
    other.close()


def test_reasons_are_sqlites_own_words() -> None:
    full = OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))
    wrapped = StorageInternalError("An exception is raised during the commit.")
    wrapped.__cause__ = full
    assert reason_of(full) == reason_of(wrapped) == "database or disk is full"
    assert reason_of(StudyWriteError("study.db: locked")) == "study.db: locked"


def test_a_study_that_may_not_grow_says_so_as_a_failure_to_write(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "study.db", create=True) as journal:
        with journal.engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        with pytest.raises(StudyWriteError, match="database or disk is full"):
            journal.notice("a long sentence " * 100_000)
