"""Everything that is SQLite about a study: opening, checking, checkpointing, copying.

A study lives in one file, Optuna's tables and ours together, in WAL mode: one runner writes, anybody reads.
Commits are not synced one by one (``synchronous=NORMAL``: a power cut may cost the last moments of the trial
that is being written, never the file); ``checkpoint`` after every trial syncs all of it.

A study with a write-ahead log beside it is opened by SQLite alone, and never as immutable: whoever closes a
file drops all locks that his process holds on it (https://www.sqlite.org/howtocorrupt.html, 2.2), and the
next one to leave would take the log away from under us.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from optuna.exceptions import StorageInternalError
from optuna.storages import RDBStorage
from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from db.errors import StudyFileError, StudyWriteError
from db.schema import REVISION, VERSION_TABLE

BUSY_TIMEOUT_S = 30.0
"""How long a writer waits for another one before it gives up, s."""
READER_TIMEOUT_S = 5.0
"""Readers hardly ever wait in WAL mode: only while the log is being recovered, s."""

_WAL_VERSION_AT = 18
_WAL_VERSION = 2


def open_writer(path: Path, *, create: bool = False) -> Engine:
    """Open a study for writing and bring our tables to the newest revision.

    A transaction begins with its first write, so that two writers queue up instead of failing in the middle.

    Args:
        path: The ``study.db``.
        create: Make the file and its folder when they are not there.

    Raises:
        StudyFileError: If the file is missing, no study of ours, or of a newer autotune.
    """
    if create:
        path.parent.mkdir(parents=True, exist_ok=True)
    revision = None if create and _holds_nothing(path) else _revision(path)
    engine = _engine(path, lambda: _connect(path))
    if revision != REVISION:
        _migrate(engine, path)
    return engine


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """Write everything in the block, or nothing.

    Raises:
        StudyWriteError: If the file cannot be written: locked for too long, disk full, folder gone.
    """
    try:
        with engine.begin() as connection:
            yield connection
    except OperationalError as error:
        reason = f"the study cannot be written: {error.orig}"
        raise StudyWriteError(f"{engine.url.database}: {reason}") from error


def open_storage(path: Path) -> RDBStorage:
    """Optuna's storage on a study file that ``open_writer`` has opened before.

    Raises:
        StudyFileError: If the file is missing or Optuna's tables in it are of another Optuna.
    """
    _revision(path)
    url = _url(path).render_as_string().replace("{", "{{").replace("}", "}}")
    try:
        return RDBStorage(url, engine_kwargs={"creator": lambda: _connect(path)})
    except RuntimeError as error:
        raise StudyFileError(f"{path}: this Optuna cannot use the study: {error}") from error


@dataclass(frozen=True)
class StudyReader:
    """A read-only handle; it never takes a lock that a writer waits for.

    Attributes:
        caveat: What may be missing from the file, one sentence, or None.
        frozen: The file is read as it stood when it was opened (see ``what_is_there``).
    """

    path: Path
    engine: Engine
    caveat: str | None = None
    frozen: bool = False

    def connect(self) -> Connection:
        return self.engine.connect()

    def what_is_there(self) -> tuple[int | None, ...]:
        """Differs from before when the handle cannot see the present and must be opened again.

        It names the file, the write-ahead log beside it, and the last change where SQLite looks for none.

        Raises:
            OSError: If the file is gone.
        """
        file, log = self.path.stat(), _wal(self.path)
        log_inode = log.stat().st_ino if log.exists() else None
        return file.st_ino, log_inode, file.st_mtime_ns if self.frozen else None

    def close(self) -> None:
        self.engine.dispose()

    def __enter__(self) -> StudyReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_reader(path: Path) -> StudyReader:
    """Open a study for reading only.

    A file in WAL mode without its ``-wal`` beside it is either at rest or was copied away from a runner. In
    the second case its last run has no end, and it is read as immutable, so that SQLite does not lay an empty
    ``-wal`` beside it that would hide what is missing.

    A study of an older autotune is brought up to date first, for which it must be writable: migrations only
    add, so that a runner of the older one goes on unharmed.

    Raises:
        StudyFileError: If the file is missing, empty, no study of ours, of a newer autotune, or of an older
            one and not writable.
    """
    if _revision(path) != REVISION:
        _bring_up_to_date(path)
    if _wal(path).exists() or not _in_wal_mode(path):
        return StudyReader(path, _read_engine(path, "mode=ro"))
    at_rest = StudyReader(path, _read_engine(path, "mode=ro&immutable=1"), frozen=True)
    if _last_run_is_open(at_rest):
        caveat = (
            f"{path.name} was copied without its {_wal(path).name} while the study ran: the trial that was"
            " being written is missing; copy with: autotune export --db"
        )
        return StudyReader(path, at_rest.engine, caveat, frozen=True)
    if not os.access(path.parent, os.W_OK):
        return at_rest
    at_rest.close()
    return StudyReader(path, _read_engine(path, "mode=ro"))


def checkpoint(engine: Engine) -> bool:
    """Move the write-ahead log into the study's file and empty it, so that the file alone is whole.

    Returns:
        False if a reader was in the way; the next checkpoint then does it.

    Raises:
        StudyWriteError: If the file cannot be written; its write-ahead log then still holds everything.
    """
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        busy: int = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.OperationalError as error:
        raise StudyWriteError(f"{engine.url.database}: the study cannot be written: {error}") from error
    finally:
        connection.close()
    return not busy


def reason_of(error: BaseException) -> str:
    """SQLite's own words in an error that SQLAlchemy, and perhaps Optuna, has wrapped."""
    if isinstance(error, StorageInternalError) and error.__cause__ is not None:
        return reason_of(error.__cause__)
    return str(getattr(error, "orig", None) or error)


def copy_study(source: Path, target: Path) -> None:
    """Write a whole, compact copy of a study, even while a runner writes it.

    Raises:
        StudyFileError: If the source is no study, or the target exists or cannot be written.
    """
    if target.exists():
        raise StudyFileError(f"{target}: a file is there already; name one that does not exist")
    with open_reader(source) as reader, reader.connect() as connection:
        try:
            connection.exec_driver_sql("VACUUM INTO ?", (str(target),))
        except StudyFileError:
            target.unlink(missing_ok=True)
            raise
        except SQLAlchemyError as error:
            target.unlink(missing_ok=True)
            raise StudyFileError(f"{target}: the study could not be copied there: {error}") from error


def data_version(connection: Connection) -> int:
    """A number that changes on this connection when anybody else has written to the study."""
    return int(connection.execute(text("PRAGMA data_version")).scalar_one())


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _read_engine(path: Path, how: str) -> Engine:
    def connect() -> sqlite3.Connection:
        return sqlite3.connect(
            _uri(path, how), uri=True, timeout=READER_TIMEOUT_S, check_same_thread=False, isolation_level=None
        )

    return _engine(path, connect)


def _engine(path: Path, connect: Callable[[], sqlite3.Connection]) -> Engine:
    engine = create_engine(_url(path), creator=connect)
    event.listen(engine, "handle_error", lambda context: _refuse_damage(path, context.original_exception))
    return engine


def _refuse_damage(path: Path, error: BaseException) -> None:
    """Damage shows page by page: a file that opens well may hold none of what is asked for."""
    # Only damage is of this very class; what passes (a lock, a full disk) is of one below it.
    if type(error) is sqlite3.DatabaseError:
        raise StudyFileError(f"{path}: the study file cannot be read: {error}") from error


def _url(path: Path) -> URL:
    return URL.create("sqlite", database=str(path))


def _uri(path: Path, how: str) -> str:
    return f"{path.absolute().as_uri()}?{how}"


def _wal(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _migrate(engine: Engine, path: Path) -> None:
    # Alembic costs 0.2 s to import: only for the writer that needs it.
    from db.migrations import upgrade

    try:
        with engine.begin() as connection:
            # Python's driver begins no transaction for CREATE TABLE: half a migration would stay.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            upgrade(connection)
    except OperationalError as error:
        raise StudyWriteError(f"{path}: the study cannot be written: {error.orig}") from error
    except Exception as error:
        raise StudyFileError(f"{path}: our tables could not be brought up to date: {error}") from error


def _bring_up_to_date(path: Path) -> None:
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        raise StudyFileError(
            f"{path}: the study was written by an older autotune and must be updated;"
            " copy it to where it can be written"
        )
    open_writer(path).dispose()


def _in_wal_mode(path: Path) -> bool:
    """Of a file without a write-ahead log, which nobody has open."""
    with path.open("rb") as file:
        header = file.read(_WAL_VERSION_AT + 1)
    return len(header) > _WAL_VERSION_AT and header[_WAL_VERSION_AT] == _WAL_VERSION


def _last_run_is_open(reader: StudyReader) -> bool:
    with reader.connect() as connection:
        newest = text("SELECT ended_at FROM autotune_runs ORDER BY id DESC LIMIT 1")
        row = connection.execute(newest).first()
    return row is not None and row[0] is None


def _holds_nothing(path: Path) -> bool:
    """No file, or one whose first runner died before it could make a table."""
    if not path.exists() or path.stat().st_size == 0:
        return True
    return not _look_inside(path)[0]


def is_sqlite(path: Path) -> bool:
    """An SQLite file of whatever program, empty ones excepted."""
    if not path.stat().st_size:
        return False
    try:
        _look_inside(path)
    except _NoDatabaseError:
        return False
    except StudyFileError:
        pass
    return True


def _revision(path: Path) -> str | None:
    """Our revision in a file that is a study of ours.

    Raises:
        StudyFileError: If it is anything else.
    """
    if not path.is_file():
        raise StudyFileError(f"{path}: there is no such study file")
    tables, revision = _look_inside(path)
    if VERSION_TABLE not in tables:
        raise StudyFileError(f"{path}: {_whose(tables, path)}")
    if revision is None or int(revision) <= int(REVISION):
        return revision
    raise StudyFileError(
        f"{path}: the study was written by a newer autotune (its tables are revision {revision}, this one"
        f" knows {REVISION}); upgrade autotune"
    )


class _NoDatabaseError(StudyFileError):
    """The file is of another kind."""


def _look_inside(path: Path) -> tuple[set[str], str | None]:
    how = "mode=ro" if _wal(path).exists() else "mode=ro&immutable=1"
    connection = sqlite3.connect(_uri(path, how), uri=True, timeout=READER_TIMEOUT_S)
    try:
        tables = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        if VERSION_TABLE not in tables:
            return tables, None
        row: Any = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            raise _NoDatabaseError(f"{path}: not a study file (it is no SQLite database)") from error
        raise StudyFileError(f"{path}: the study file cannot be read: {error}") from error
    finally:
        connection.close()
    return tables, None if row is None else str(row[0])


def _whose(tables: set[str], path: Path) -> str:
    if not tables:
        return (
            f"the study file is empty; either its first run has not begun, or it was copied without its"
            f" {_wal(path).name}"
        )
    if "trial_values" in tables:
        return "an Optuna study that autotune did not make; bring its trials in with: autotune import"
    return "a database of another program, not a study file"
