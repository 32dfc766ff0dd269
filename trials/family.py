"""The processes of one server, however they spread: by session, by mark, and by having been seen."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable

from trials.listening import listening_sockets, sockets_of
from trials.process_table import OsProcess, own_line, snapshot


class Family:
    """All processes that stem from one start of ours.

    A process that was seen to belong once belongs for ever: a scheduler that outlives its parent, leaves the
    session and wipes its environment is still known by pid and start time.
    """

    def __init__(self, belongs: Callable[[OsProcess], bool]) -> None:
        self._belongs = belongs
        self._known: set[tuple[int, int]] = set()
        self._sockets: set[int] = set()

    def members(self) -> list[OsProcess]:
        """Members in the process table, zombies included, never ourselves or our ancestors."""
        table = snapshot()
        spared = own_line(table)
        found = [p for p in table.values() if p.pid not in spared and self._is_member(p)]
        self._known.update((p.pid, p.started) for p in found)
        return found

    def living(self) -> list[OsProcess]:
        """Members that still run."""
        return [p for p in self.members() if not p.dead]

    def ask_to_end(self) -> None:
        """SIGTERM to every member."""
        for process in self.living():
            process.send(signal.SIGTERM)

    def kill(self, *, spare_code_of: int | None = None) -> None:
        """SIGKILL every member, and fetch the exit codes of those that were handed to us as their new parent.

        Args:
            spare_code_of: Pid of a child of our own whose exit code its starter fetches.
        """
        for process in self.members():
            if not process.dead:
                process.send(signal.SIGKILL)
            elif process.parent == os.getpid() and process.pid != spare_code_of:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)

    def note_sockets(self) -> set[int]:
        """Remember which listening sockets members hold now; returns all ever noted."""
        self._sockets |= sockets_of(self.living(), listening_sockets())
        return self._sockets

    def owns_port(self, port: int) -> bool:
        """True when something listens on the port and every such socket is a member's."""
        ours = self.note_sockets()
        listening = {inode for inode, number in listening_sockets().items() if number == port}
        return bool(listening) and listening <= ours

    def open_ports(self) -> list[int]:
        """Ports of sockets that members once held and that still listen, whoever holds them now."""
        return sorted({port for inode, port in listening_sockets().items() if inode in self._sockets})

    def _is_member(self, process: OsProcess) -> bool:
        return (process.pid, process.started) in self._known or self._belongs(process)
