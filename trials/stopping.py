"""Stop a server and prove it: nothing of it runs, no port is open, and the GPUs' memory came back."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from trials.boot_log.wording import STOPS_SERVER
from trials.family import Family
from trials.gpus import GpuProbe
from trials.left_behind import gpu_holdings, memory_left, port_left, process_left
from trials.settings import ServerPlan


@dataclass(frozen=True)
class StopPolicy:
    """How patient a stop is. Times in s, memory in MiB.

    Attributes:
        grace_s: From SIGTERM to SIGKILL.
        orphan_grace_s: The same once the launcher is dead: SGLang's orphans ignore SIGTERM for minutes.
        settle_s: How long the GPUs must stay at their level before the boot.
        release_s: Longest wait from SIGKILL to the proof.
        hurried_s: The same when asked to hurry.
        tolerance_mib: How far above its level before the boot a GPU may stay.
        poll_s: Pause between two looks.
    """

    grace_s: float = 8.0
    orphan_grace_s: float = 1.0
    settle_s: float = 3.0
    release_s: float = 60.0
    hurried_s: float = 3.0
    tolerance_mib: int = 512
    poll_s: float = 0.1


HARDWARE_STOP = StopPolicy()
BOX_STOP = StopPolicy(grace_s=3.0, orphan_grace_s=0.2, settle_s=0.2, poll_s=0.05)


def stop_policy(server: ServerPlan) -> StopPolicy:
    """The policy for this kind of server: imagined memory settles faster than a driver's."""
    return BOX_STOP if server.simulated else HARDWARE_STOP


def note_stop(log: Path) -> None:
    """Write into a server's log that from here on it is being ended: what it says then is no cause."""
    with contextlib.suppress(OSError), log.open("ab") as file:
        file.write(f"\n{STOPS_SERVER} at {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n".encode())


@dataclass(frozen=True)
class StopProof:
    """How a stop ended.

    Attributes:
        proven: Processes gone, ports closed, GPU memory back.
        exit_code: The launcher's, negative for a signal; None when we are not its parent.
        seconds: How long the stop took, s.
        left_behind: What remains and what to do about it, empty when proven.
    """

    proven: bool
    exit_code: int | None
    seconds: float
    left_behind: str


@dataclass(frozen=True)
class Clearance:
    """Ends one family and watches until the machine is as it was before.

    Attributes:
        idle_mib: Memory in use before the boot, MiB by card; empty when no card is watched.
        hurry: Asked often; from the moment it says True, nothing is waited for that can be killed.
        launcher: Pid of the family's first process when it is our child: its exit code is left alone.
    """

    family: Family
    probe: GpuProbe
    idle_mib: Mapping[int, int]
    policy: StopPolicy
    hurry: Callable[[], bool]
    launcher: int | None = None

    def ask(self, grace_s: float) -> None:
        """SIGTERM, then wait until no member lives, ``grace_s`` is over, or there is a hurry."""
        self.family.note_sockets()
        if self.hurry():
            return
        self.family.ask_to_end()
        deadline = time.monotonic() + grace_s
        while self.family.living() and time.monotonic() < deadline and not self.hurry():
            time.sleep(self.policy.poll_s)

    def enforce(self) -> str:
        """SIGKILL until the machine is clean and stays so.

        Returns:
            What remains when time is up, one sentence each; else nothing.
        """
        begun = time.monotonic()
        clean_since: float | None = None
        while True:
            self.family.kill(spare_code_of=self.launcher)
            remains = self._remains()
            now = time.monotonic()
            if remains:
                clean_since = None
                if now - begun >= self._patience_s:
                    return " ".join(remains)
            else:
                clean_since = now if clean_since is None else clean_since
                if now - clean_since >= self._settle_s:
                    return ""
            time.sleep(self.policy.poll_s)

    @property
    def _patience_s(self) -> float:
        return self.policy.hurried_s if self.hurry() else self.policy.release_s

    @property
    def _settle_s(self) -> float:
        return self.policy.settle_s if self.idle_mib and not self.hurry() else 0.0

    def _remains(self) -> list[str]:
        holdings = gpu_holdings(self.probe)
        return [
            *(process_left(process, holdings) for process in self.family.living()),
            *(port_left(port) for port in self.family.open_ports()),
            *memory_left(self.probe, self.idle_mib, self.policy.tolerance_mib, holdings),
        ]
