"""One study file as the page sees it: read again only when somebody has written to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from autotune.dashboard.snapshot import Snapshot, take_snapshot
from autotune.study_view import StudyReading, StudyView
from db.engine import StudyReader, data_version, open_reader
from db.errors import StudyFileError

CHECK_INTERVAL_S = 0.25
"""However many clients poll, the file is asked for changes this often at most, s."""

MOST_KEPT = 64
"""Answers kept at most: a reader who asks for everything in turn must not fill the memory."""

Value = TypeVar("Value")


class _Handle:
    """An open file and the connection on which its changes are noticed."""

    def __init__(self, path: Path) -> None:
        self.reader: StudyReader = open_reader(path)
        self.connection: Connection = self.reader.connect()
        self.version = data_version(self.connection)
        self._opened = self.reader.what_is_there()

    def is_lost(self) -> bool:
        """True when the path now leads to another file, or the handle cannot see the present."""
        return self.reader.what_is_there() != self._opened

    def has_changed(self) -> bool:
        version = data_version(self.connection)
        changed, self.version = version != self.version, version
        return changed

    def close(self) -> None:
        self.connection.close()
        self.reader.close()


class StudySource:
    """Snapshots of one study, shared by all clients."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self._lock = RLock()
        self._handle: _Handle | None = None
        self._snapshot: Snapshot | None = None
        self._details: dict[Hashable, Any] = {}
        self._kept: dict[Hashable, tuple[StudyView, Any]] = {}
        self._workshops: dict[Hashable, Any] = {}
        self._reading = StudyReading()
        self._generation = 0
        self._checked = 0.0

    @property
    def folder(self) -> Path:
        return self.path.parent

    def snapshot(self) -> Snapshot:
        """The study as it stands.

        Raises:
            StudyFileError: If the file cannot be read now; the next call tries again.
        """
        with self._lock:
            return self._guarded(self._current)

    def detail(self, key: Hashable, read: Callable[[Connection], Value]) -> Value:
        """Something smaller about the study, kept under ``key`` until the file changes.

        Raises:
            StudyFileError: If the file cannot be read now.
        """
        with self._lock:
            return self._guarded(lambda: self._detail(key, read))

    def lasting(self, key: Hashable, read: Callable[[StudyView, Connection], Value]) -> Value:
        """Something about the study's trials, kept under ``key`` until one of them changes.

        Raises:
            StudyFileError: If the file cannot be read now.
        """
        with self._lock:
            return self._guarded(lambda: self._lasting(key, read))

    def workshop(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Something that makes pieces of the page and remembers what it made; kept as long as the study."""
        with self._lock:
            if key not in self._workshops:
                self._workshops[key] = make()
            made: Value = self._workshops[key]
            return made

    def close(self) -> None:
        with self._lock:
            if self._handle is not None:
                self._handle.close()
            self._handle = self._snapshot = None
            self._reading = StudyReading()

    def _guarded(self, read: Callable[[], Value]) -> Value:
        try:
            return read()
        except (StudyFileError, SQLAlchemyError, OSError) as error:
            self.close()
            if isinstance(error, StudyFileError):
                raise
            reason = error.orig if isinstance(error, DBAPIError) else error
            raise StudyFileError(f"{self.path}: the study cannot be read now: {reason}") from error

    def _detail(self, key: Hashable, read: Callable[[Connection], Value]) -> Value:
        self._current()
        if key not in self._details:
            _make_room(self._details)
            with self._open().reader.connect() as connection:
                self._details[key] = read(connection)
        value: Value = self._details[key]
        return value

    def _lasting(self, key: Hashable, read: Callable[[StudyView, Connection], Value]) -> Value:
        study = self._current().study
        kept = self._kept.get(key)
        if kept is None or kept[0] is not study:
            _make_room(self._kept)
            with self._open().reader.connect() as connection:
                kept = self._kept[key] = (study, read(study, connection))
        value: Value = kept[1]
        return value

    def _current(self) -> Snapshot:
        if self._snapshot is None or self._is_stale():
            self._generation += 1
            self._details.clear()
            handle = self._open()
            self._snapshot = take_snapshot(
                handle.connection, self._reading, self._generation, handle.reader.caveat
            )
        return self._snapshot

    def _is_stale(self) -> bool:
        now = time.monotonic()
        if now - self._checked < CHECK_INTERVAL_S:
            return False
        self._checked = now
        if self._open().is_lost():
            self.close()
            return True
        return self._open().has_changed()

    def _open(self) -> _Handle:
        if self._handle is None:
            self._handle = _Handle(self.path)
        return self._handle


def _make_room(answers: dict[Hashable, Any]) -> None:
    while len(answers) >= MOST_KEPT:
        del answers[next(iter(answers))]
