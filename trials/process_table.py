"""The machine's processes as /proc shows them: when they began, in which session, with which mark."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import psutil

from trials.settings import MARK_VARIABLE, OWNER_VARIABLE

PROC = Path("/proc")
_COMMAND_WIDTH = 100


@dataclass(frozen=True)
class OsProcess:
    """One process. ``pid`` and ``started`` together are never used twice.

    Attributes:
        started: Clock ticks between the machine's boot and the process's start.
        dead: Only an exit code is left that the parent has not fetched.
    """

    pid: int
    parent: int
    session: int
    started: int
    dead: bool

    @property
    def command(self) -> str:
        """The command line, shortened, or the bare name where there is none."""
        try:
            line = (PROC / str(self.pid) / "cmdline").read_bytes().replace(b"\0", b" ").strip()
            line = line or (PROC / str(self.pid) / "comm").read_bytes().strip()
        except OSError:
            return "?"
        text = line.decode(errors="replace")
        return text if len(text) <= _COMMAND_WIDTH else text[: _COMMAND_WIDTH - 1] + "…"

    @property
    def mark(self) -> str | None:
        """Value of ``AUTOTUNE_MARK`` in the environment; None without one, or when it may not be read."""
        return self._variable(MARK_VARIABLE)

    @property
    def owner(self) -> str | None:
        """Value of ``AUTOTUNE_OWNER``, likewise."""
        return self._variable(OWNER_VARIABLE)

    @property
    def is_mine(self) -> bool:
        """True when it runs as our own user."""
        try:
            return (PROC / str(self.pid)).stat().st_uid == os.getuid()
        except OSError:
            return False

    def send(self, number: signal.Signals) -> None:
        """Signal this very process; nothing happens when it is gone or its user is not ours."""
        now = look_up(self.pid)
        if now is None or now.started != self.started:
            return
        try:
            os.kill(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return

    def _variable(self, name: str) -> str | None:
        try:
            environment = (PROC / str(self.pid) / "environ").read_bytes()
        except OSError:
            return None
        wanted = name.encode() + b"="
        for entry in environment.split(b"\0"):
            if entry.startswith(wanted):
                return entry.removeprefix(wanted).decode(errors="replace")
        return None


def look_up(pid: int) -> OsProcess | None:
    """The process with this pid now, or None."""
    try:
        text = (PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    return _parse_stat(pid, text)


def snapshot() -> dict[int, OsProcess]:
    """Every process that /proc shows, by pid."""
    return {process.pid: process for process in map(look_up, psutil.pids()) if process is not None}


def own_line(table: dict[int, OsProcess]) -> set[int]:
    """Pids of this process and its ancestors, which are never to be signalled."""
    line: set[int] = set()
    pid = os.getpid()
    while pid and pid not in line:
        line.add(pid)
        pid = table[pid].parent if pid in table else 0
    return line


def _parse_stat(pid: int, text: bytes) -> OsProcess:
    # Fields after the command, which may itself hold spaces and brackets: proc(5) numbers them from 3.
    fields = text[text.rindex(b")") + 2 :].split()
    state, threads = fields[0], int(fields[17])
    # A leading thread can be a zombie while the others still live and hold the GPU's memory.
    dead = state in b"ZX" and threads <= 1
    return OsProcess(pid, int(fields[1]), int(fields[3]), int(fields[19]), dead)
