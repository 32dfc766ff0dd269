"""Servers of a runner that died: found by the mark in their environment, and stopped with proof."""

from __future__ import annotations

import time
from collections.abc import Mapping

from trials.family import Family
from trials.gpus import GpuProbe
from trials.memory_settling import wait_while_falling
from trials.process_table import OsProcess, look_up
from trials.stopping import HARDWARE_STOP, Clearance, StopPolicy, StopProof


def marked_processes(prefix: str) -> list[OsProcess]:
    """Living processes of our user that a runner with this mark left.

    They are those whose mark begins with ``prefix`` (``STUDY`` or ``STUDY:TRIAL``), and the rest of a session
    whose leader is marked.
    """
    return _marked_family(prefix).living()


def stop_marked(
    prefix: str, probe: GpuProbe, idle_mib: Mapping[int, int], *, policy: StopPolicy = HARDWARE_STOP
) -> StopProof:
    """End all that ``marked_processes`` finds, as ``ServerProcess.stop`` would have done.

    Args:
        idle_mib: Memory in use before the boot, MiB by card; empty when nobody wrote it down. Then the end of
            the processes and of their ports is the proof, and memory is waited for only as long as it falls.
    """
    begun = time.monotonic()
    clearance = Clearance(_marked_family(prefix), probe, idle_mib, policy, hurry=lambda: False)
    clearance.ask(policy.orphan_grace_s)
    left = clearance.enforce()
    if not left and not idle_mib:
        left = wait_while_falling(probe, policy)
    return StopProof(not left, None, time.monotonic() - begun, left)


def _marked_family(prefix: str) -> Family:
    def bears_mark(process: OsProcess) -> bool:
        mark = process.mark if process.is_mine else None
        return mark is not None and f"{mark}:".startswith(f"{prefix.rstrip(':')}:")

    def belongs(process: OsProcess) -> bool:
        leader = look_up(process.session)
        return bears_mark(process) or (leader is not None and bears_mark(leader))

    return Family(belongs)
