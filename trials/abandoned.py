"""Servers that an autotune left which was killed: whoever boots the next server ends them first."""

from __future__ import annotations

from dataclasses import dataclass

from trials.container import remove_abandoned
from trials.gpus import GpuProbe
from trials.marks import abandoned_processes, stop_abandoned_processes
from trials.stopping import StopPolicy


@dataclass(frozen=True)
class Cleared:
    """What was found.

    Attributes:
        servers: Processes and containers of dead owners.
        left_behind: What could not be stopped, empty when all of it is gone.
    """

    servers: int
    left_behind: str

    @property
    def sentence(self) -> str:
        """Empty when there was nothing."""
        if not self.servers:
            return ""
        return f"stopped {self.servers} processes of servers whose autotune had been killed"


def stop_abandoned(probe: GpuProbe, policy: StopPolicy) -> Cleared:
    """End every marked server whose owner is gone; nothing else is touched."""
    servers = len(abandoned_processes()) + len(remove_abandoned())
    left = stop_abandoned_processes(probe, policy=policy).left_behind if servers else ""
    return Cleared(servers, left)
