"""Who started a server: while that process lives, the server is nobody else's to end."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from trials.host import boot_id
from trials.process_table import look_up

_PID_NAMESPACE = Path("/proc/self/ns/pid")


@dataclass(frozen=True)
class Owner:
    """A process, named so that no other is ever taken for it.

    Attributes:
        started: Clock ticks between the machine's boot and the process's start.
        place: The boot of the machine and the namespace in which the pid counts: a container numbers its
            processes anew, and one container runtime may serve several machines.
    """

    pid: int
    started: int
    place: str

    @classmethod
    def me(cls) -> Owner:
        process = look_up(os.getpid())
        return cls(os.getpid(), process.started if process else 0, _this_place())

    @classmethod
    def parse(cls, text: str | None) -> Owner | None:
        """Read ``str(owner)`` back; None for anything else."""
        pid, _, rest = (text or "").partition(":")
        started, _, place = rest.partition(":")
        if not pid.isdigit() or not started.isdigit() or not int(pid):
            return None
        return cls(int(pid), int(started), place)

    def __str__(self) -> str:
        return f"{self.pid}:{self.started}:{self.place}"

    @property
    def is_another(self) -> bool:
        """True when it lives and is not this process: its servers are not ours to end."""
        now = look_up(self.pid)
        lives = now is not None and not now.dead and now.started == self.started
        return self.place == _this_place() and lives and self.pid != os.getpid()

    @property
    def is_gone(self) -> bool:
        """True only when it is certain; never of a process that cannot be seen from here."""
        if self.place != _this_place():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        now = look_up(self.pid)
        return now is not None and (now.dead or now.started != self.started)


def _this_place() -> str:
    return f"{boot_id()}/{_PID_NAMESPACE.stat().st_ino}"
