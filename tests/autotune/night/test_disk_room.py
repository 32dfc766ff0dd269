"""A disk that is nearly full: healthy logs go, oldest first; failures' logs and results stay."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from autotune.night.disk_room import LEAST_MIB, TIGHT_MIB, DiskRoom
from autotune.trial_view import TrialView
from tests.autotune.night.views import (
    interrupted,
    machine_failed,
    running,
    settings_failed,
    stopped,
    worked,
)

_HISTORY = [
    worked(0),
    settings_failed(1),
    stopped(2),
    machine_failed(3),
    worked(4),
    interrupted(5),
    running(6),
]


def _logs(folder: Path, history: Iterable[TrialView], name: str = "server.log.gz") -> None:
    for trial in history:
        place = folder / "trials" / f"{trial.number:04d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(b"words")


def _left(folder: Path) -> list[int]:
    return sorted(int(log.parent.name) for log in folder.glob("trials/*/server*.log*"))


class _Disk:
    """A disk on which every log that goes frees so much."""

    def __init__(self, folder: Path, free: int, each: int) -> None:
        self._folder, self._free, self._each = folder, free, each
        self._before = len(_left(folder))

    def free(self, _: Path) -> int:
        return self._free + self._each * (self._before - len(_left(self._folder)))


def _make(folder: Path, free: int, each: int) -> tuple[str | None, list[str]]:
    said: list[str] = []
    return DiskRoom(folder, said.append, _Disk(folder, free, each).free).make(_HISTORY), said


def test_nothing_is_touched_while_there_is_room(tmp_path: Path) -> None:
    _logs(tmp_path, _HISTORY)
    assert _make(tmp_path, TIGHT_MIB, 1) == (None, [])
    assert _left(tmp_path) == [0, 1, 2, 3, 4, 5, 6]


def test_only_as_many_healthy_logs_as_needed_oldest_first(tmp_path: Path) -> None:
    _logs(tmp_path, _HISTORY)
    reason, said = _make(tmp_path, TIGHT_MIB - 100, 50)
    assert reason is None
    assert _left(tmp_path) == [1, 3, 4, 5, 6]
    assert len(said) == 1
    assert "2 healthy trials were dropped, trial 2's last" in said[0]


def test_failures_keep_their_logs_even_on_a_full_disk(tmp_path: Path) -> None:
    _logs(tmp_path, _HISTORY)
    reason, _ = _make(tmp_path, LEAST_MIB - 10, 1)
    assert _left(tmp_path) == [1, 3, 5, 6]
    assert reason is not None
    assert f"is full ({LEAST_MIB - 7} MiB free): make room" in reason


def test_leftovers_are_compressed_but_not_the_log_of_a_running_trial(tmp_path: Path) -> None:
    _logs(tmp_path, _HISTORY, name="server.log")
    _make(tmp_path, TIGHT_MIB - 1, 0)
    assert not (tmp_path / "trials/0001/server.log").exists()
    assert (tmp_path / "trials/0001/server.log.gz").exists()
    assert (tmp_path / "trials/0006/server.log").exists()


def test_a_log_that_cannot_be_deleted_is_no_reason_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _logs(tmp_path, _HISTORY)

    def refuse(self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "unlink", refuse)
    assert _make(tmp_path, LEAST_MIB, 0) == (None, [])
