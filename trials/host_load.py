"""How much of the host's processors others took meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import psutil

BUSY_SHARE = 0.25
"""Share of all processors that others may take: a server's scheduler and tokenizer need a few of them."""

STOLEN_SHARE = 0.05
"""Share of all processors' time that the hypervisor may give to other machines."""


@dataclass(frozen=True)
class HostTimes:
    """Processor seconds since the machine's boot, at one moment.

    Attributes:
        at: s on the monotonic clock.
        busy: Of all processors together, without waiting and without what was stolen.
        stolen: Taken by the hypervisor.
        ours: Of this process, everything below it and the server, by pid.
    """

    at: float
    busy: float
    stolen: float
    ours: dict[int, float]

    @classmethod
    def read(cls, server: Iterable[int]) -> Self:
        """The figures now.

        Args:
            server: Pids of the server, which may have left our tree.
        """
        times = psutil.cpu_times()
        tree = (process.pid for process in psutil.Process().children(recursive=True))
        pids = {os.getpid(), *tree, *server}
        stolen = getattr(times, "steal", 0.0)
        busy = sum(times) - times.idle - getattr(times, "iowait", 0.0) - stolen
        # Guests are counted a second time, as part of the user's share.
        busy -= getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
        return cls(time.monotonic(), busy, stolen, {pid: _seconds_of(pid) for pid in pids})


def host_disturbances(before: HostTimes, after: HostTimes) -> tuple[str, ...]:
    """What others did with the host in between, a sentence each; nothing is said of a host that was calm."""
    processors = psutil.cpu_count() or 1
    passed = (after.at - before.at) * processors
    if passed <= 0:
        return ()
    ours = sum(seconds - before.ours.get(pid, 0.0) for pid, seconds in after.ours.items())
    others = (after.busy - before.busy - ours) / passed
    stolen = (after.stolen - before.stolen) / passed
    found = []
    if others > BUSY_SHARE:
        found.append(f"other programs kept {others * processors:.1f} of {processors} processors busy")
    if stolen > STOLEN_SHARE:
        found.append(f"the hypervisor gave {100 * stolen:.0f} % of the processors' time to other machines")
    return tuple(found)


def _seconds_of(pid: int) -> float:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)
