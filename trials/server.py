"""One server process: started in a session of its own, watched, and stopped with proof."""

from __future__ import annotations

import errno
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from trials.family import Family
from trials.gpus import GpuProbe
from trials.log_tail import LogTail
from trials.owners import Owner
from trials.process_table import OsProcess, look_up
from trials.recorder import StopSignal
from trials.settings import MARK_VARIABLE, OWNER_VARIABLE
from trials.stopping import HARDWARE_STOP, Clearance, StopPolicy, StopProof, note_stop

if TYPE_CHECKING:
    from trials.command import Command

_OUR_ENVIRONMENT = {
    # SGLang's schedulers rename themselves with setproctitle, which overwrites the environment that /proc
    # shows, and with it the mark. This variable of setproctitle's keeps it readable.
    "SPT_NOENV": "1",
    # A server that is killed takes what it printed but had not flushed with it.
    "PYTHONUNBUFFERED": "1",
}


class ServerStartError(RuntimeError):
    """The server could not be started at all; the text says why and what to do."""


class Container(Protocol):
    """The container around a server, whose processes are not our children."""

    def owns_port(self, port: int) -> bool:
        """True when the socket that listens on the port belongs to the container."""

    def remove(self) -> None:
        """End and delete the container; nothing happens when it is gone already."""


class ServerProcess:
    """A server that we started. Made by ``start``."""

    def __init__(
        self, child: subprocess.Popen[bytes], *, log_path: Path, mark: str, container: Container | None
    ) -> None:
        self._child = child
        self._log_path = log_path
        self._mark = mark
        self._container = container
        self._family = Family(self._belongs)

    @classmethod
    def start(
        cls, command: Command, *, log_path: Path, mark: str, container: Container | None = None
    ) -> ServerProcess:
        """Start the command in a session of its own; everything it prints is appended to ``log_path``.

        Args:
            mark: Value of ``AUTOTUNE_MARK`` in the environment of all its processes.
            container: The container that the command runs, when it runs one.

        Raises:
            ServerStartError: If the program cannot be run or the log cannot be written.
        """
        ours = {MARK_VARIABLE: mark, OWNER_VARIABLE: str(Owner.me())}
        environment = {**_OUR_ENVIRONMENT, **os.environ, **command.env, **ours}
        with _open_log(log_path, mark) as log:
            try:
                child = subprocess.Popen(
                    command.argv,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise ServerStartError(_start_sentence(command.argv[0], error)) from error
        return cls(child, log_path=log_path, mark=mark, container=container)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def session(self) -> int:
        """Session that the process leads; its number is the pid's."""
        return self._child.pid

    def poll(self) -> int | None:
        """Exit code (negative for a signal), None while it runs.

        The code is looked at and not fetched before the stop: as long as the dead launcher stands in the
        process table, its pid and session cannot be given to a stranger whom the stop would then kill.
        """
        if self._child.returncode is not None:
            return self._child.returncode
        try:
            seen = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return self._child.poll()
        if seen is None:
            return None
        return seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status

    def owns_port(self, port: int) -> bool:
        """True when what listens on the port is this server, and not another that took the port before it."""
        if self._container is not None and self._container.owns_port(port):
            return True
        return self._family.owns_port(port)

    def tail(self) -> LogTail:
        """A reader of the log, from its beginning."""
        return LogTail(self._log_path)

    def kill(self) -> None:
        """SIGKILL every process of this server where no second may be lost; ``stop`` brings the proof."""
        if self.poll() is None:
            note_stop(self._log_path)
        self._family.kill(spare_code_of=self.pid)

    def stop(
        self,
        probe: GpuProbe,
        idle_mib: Mapping[int, int],
        *,
        policy: StopPolicy = HARDWARE_STOP,
        now: bool = False,
        hurry: StopSignal | None = None,
    ) -> StopProof:
        """End every process of this server and show that the machine is as it was before.

        Args:
            idle_mib: Memory in use before the boot, MiB by card (``left_behind.memory_levels``).
            now: SIGKILL at once and wait only for what was killed.
            hurry: When it becomes set during the stop, the rest goes on as with ``now``.
        """
        begun = time.monotonic()
        if self.poll() is None:
            note_stop(self._log_path)
        clearance = Clearance(self._family, probe, idle_mib, policy, _hurry(now, hurry), launcher=self.pid)
        try:
            clearance.ask(policy.grace_s if self.poll() is None else policy.orphan_grace_s)
            if self._container is not None:
                self._container.remove()
            left = clearance.enforce()
        except BaseException:
            self._family.kill(spare_code_of=self.pid)
            raise
        code = self.poll()
        if code is not None:
            self._child.wait()
        return StopProof(not left, code, time.monotonic() - begun, left)

    def pids(self) -> list[int]:
        """Of every process of this server that runs."""
        return [process.pid for process in self._family.living()]

    def strangers(self, pids: Iterable[int]) -> set[int]:
        """Those of the pids whose processes run and are not this server's.

        A pid that is not in our process table is none of them: in a container the driver's pids may be those
        of the host.
        """
        return {pid for pid in pids if look_up(pid)} - {member.pid for member in self._family.members()}

    def _belongs(self, process: OsProcess) -> bool:
        # Once the launcher's exit code is fetched, its session's number may be another's.
        in_session = self._child.returncode is None and process.session == self.session
        return in_session or (process.is_mine and process.mark == self._mark)


def _hurry(now: bool, signal: StopSignal | None) -> Callable[[], bool]:
    return lambda: now or (signal is not None and signal.is_set())


def _open_log(path: Path, mark: str) -> BinaryIO:
    """Open the log and write its first line, which shows at once whether the disk still takes anything."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        log = path.open("ab", buffering=0)
        log.write(
            f"# autotune started this server at {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC, {mark}\n".encode()
        )
    except OSError as error:
        raise ServerStartError(_log_sentence(path, error)) from error
    return log


def _log_sentence(path: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full, the server's log {path} cannot be written; free some space and run again"
    return (
        f"the server's log {path} cannot be written ({error.strerror}); choose a folder that you may write to"
    )


def _start_sentence(program: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"the server command {program!r} was not found; write its full path in [server] command"
    if isinstance(error, PermissionError):
        return f"the server command {program!r} may not be run; make it executable (chmod +x)"
    return f"the server command {program!r} could not be started ({error.strerror})"
