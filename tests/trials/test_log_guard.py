"""A log that grows without end, and a disk that fills up during a trial."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

from trials import log_guard
from trials.endings import Overflowed
from trials.log_guard import LEAST_FREE_MIB, MOST_LOG_MIB, LogGuard
from trials.outcome import FailureKind

_MIB = 1 << 20


def _guard(folder: Path, log_mib: int, free_mib: int, stop: Event | None = None) -> LogGuard:
    log = folder / "server.log"
    with log.open("wb") as file:
        file.truncate(log_mib * _MIB)  # a hole: it takes no room
    return LogGuard(log, stop or Event(), lambda _: free_mib)


def _ending(guard: LogGuard) -> Overflowed:
    guard.look()
    assert guard.is_set()
    assert guard.ending is not None
    return guard.ending


def test_as_long_as_there_is_room_only_the_stop_signal_counts(tmp_path: Path) -> None:
    stop = Event()
    guard = _guard(tmp_path, MOST_LOG_MIB, LEAST_FREE_MIB, stop)
    guard.look()
    assert not guard.is_set()
    stop.set()
    assert guard.is_set()
    assert guard.ending is None


def test_whose_fault_a_flood_is_others_must_show(tmp_path: Path) -> None:
    ending = _ending(_guard(tmp_path, MOST_LOG_MIB + 1, 9999))
    assert ending.kind is FailureKind.UNKNOWN
    assert "the server wrote 513 MiB of log" in ending.sentence


def test_a_disk_that_somebody_else_fills_is_the_machines_fault(tmp_path: Path) -> None:
    ending = _ending(_guard(tmp_path, 3, LEAST_FREE_MIB - 1))
    assert ending.kind is FailureKind.ENVIRONMENT
    assert "is nearly full (127 MiB left, 3 MiB taken by the server's log): make room" in ending.sentence


def test_it_looks_by_itself_when_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_guard, "_LOOKS_EVERY_S", 0.0)
    assert _guard(tmp_path, 1, 1).is_set()


def test_a_log_that_is_gone_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_guard, "_LOOKS_EVERY_S", 0.0)
    guard = _guard(tmp_path, 1, 1)
    (tmp_path / "server.log").unlink()
    assert not guard.is_set()
