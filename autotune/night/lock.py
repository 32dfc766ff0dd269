"""One study, one runner: a lock file in the study folder that dies with its process."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO

from trials.host import boot_id

LOCK_NAME = "runner.lock"


@dataclass(frozen=True)
class Holder:
    """Who runs, or last ran, a study."""

    pid: int
    host: str
    boot_id: str
    since: str

    @classmethod
    def me(cls) -> Holder:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(pid=os.getpid(), host=socket.gethostname(), boot_id=boot_id(), since=now)

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


class StudyIsRunningError(RuntimeError):
    """Another runner holds the study."""

    def __init__(self, folder: Path, holder: Holder | None) -> None:
        who = str(holder) if holder else "a process that has not said its name yet"
        super().__init__(
            f"study {folder.name!r} is already being run by {who}; stop it first with: "
            f"autotune stop {folder.name}"
        )
        self.holder = holder


class RunnerLock:
    """Holds a study for this process; the kernel lets go of it however the process ends.

    Attributes:
        dead_runner: The runner that ended without letting go, None after a clean end.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK_NAME
        self._file: IO[str] | None = None
        self.dead_runner: Holder | None = None

    def acquire(self) -> RunnerLock:
        """Take the study.

        Raises:
            StudyIsRunningError: If another runner holds it.
        """
        file = self._path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise StudyIsRunningError(self._path.parent, _read(self._path)) from None
        self.dead_runner = _read(self._path)
        _write(file, json.dumps(asdict(Holder.me())))
        self._file = file
        return self

    def release(self) -> None:
        if self._file is not None:
            _write(self._file, "")
            self._file.close()
            self._file = None

    def __enter__(self) -> RunnerLock:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def running_holder(folder: Path) -> Holder | None:
    """The live runner of a study on this machine, None when nobody runs it."""
    path = folder / LOCK_NAME
    if not path.exists():
        return None
    with path.open("r", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _read(path)
    return None


def _read(path: Path) -> Holder | None:
    try:
        return Holder(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _write(file: IO[str], text: str) -> None:
    file.seek(0)
    file.truncate()
    file.write(text)
    file.flush()
