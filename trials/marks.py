"""Servers of a runner that died: found by the mark in their environment, and stopped with proof."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from trials.family import Family
from trials.gpus import GpuProbe
from trials.memory_settling import wait_while_falling
from trials.owners import Owner
from trials.process_table import PROC, OsProcess, look_up
from trials.stopping import HARDWARE_STOP, Clearance, StopPolicy, StopProof, note_stop


def marked_processes(prefix: str) -> list[OsProcess]:
    """Living processes of our user that carry this mark.

    They are those whose mark begins with ``prefix`` (``STUDY`` or ``STUDY:TRIAL``), and the rest of a session
    whose leader is marked.
    """
    return _family(_marked(prefix)).living()


def left_processes(prefix: str) -> list[OsProcess]:
    """The same without those whose owner lives: a copy of a study that somebody runs has its mark too."""
    return _family(_left(prefix)).living()


def stop_marked(
    prefix: str, probe: GpuProbe, idle_mib: Mapping[int, int], *, policy: StopPolicy = HARDWARE_STOP
) -> StopProof:
    """End all that ``left_processes`` finds, as ``ServerProcess.stop`` would have done.

    Args:
        idle_mib: Memory in use before the boot, MiB by card; empty when nobody wrote it down. Then the end of
            the processes and of their ports is the proof, and memory is waited for only as long as it falls.
    """
    return _stop(_family(_left(prefix)), probe, idle_mib, policy)


def abandoned_processes() -> list[OsProcess]:
    """Living processes of our user that bear any mark and whose owner is gone, with the rest of a session."""
    return _family(_is_abandoned).living()


def stop_abandoned_processes(probe: GpuProbe, *, policy: StopPolicy = HARDWARE_STOP) -> StopProof:
    """End all that ``abandoned_processes`` finds, likewise."""
    return _stop(_family(_is_abandoned), probe, {}, policy)


def _stop(family: Family, probe: GpuProbe, idle_mib: Mapping[int, int], policy: StopPolicy) -> StopProof:
    begun = time.monotonic()
    for process in family.living():
        _note_stop(process)
    clearance = Clearance(family, probe, idle_mib, policy, hurry=lambda: False)
    clearance.ask(policy.orphan_grace_s)
    left = clearance.enforce()
    if not left and not idle_mib:
        left = wait_while_falling(probe, policy)
    return StopProof(not left, None, time.monotonic() - begun, left)


def _note_stop(process: OsProcess) -> None:
    """Nobody who reads the log later must take the end for the server's own."""
    if process.pid == process.session:
        log = (PROC / str(process.pid) / "fd/1").resolve()
        if log.match("server*.log") and log.is_file():
            note_stop(log)


def _family(bears_mark: Callable[[OsProcess], bool]) -> Family:
    def belongs(process: OsProcess) -> bool:
        leader = look_up(process.session)
        follows = process.mark is None and leader is not None and bears_mark(leader)
        return follows or bears_mark(process)

    return Family(belongs)


def _marked(prefix: str) -> Callable[[OsProcess], bool]:
    def bears_mark(process: OsProcess) -> bool:
        mark = process.mark if process.is_mine else None
        return mark is not None and f"{mark}:".startswith(f"{prefix.rstrip(':')}:")

    return bears_mark


def _left(prefix: str) -> Callable[[OsProcess], bool]:
    bears_mark = _marked(prefix)

    def is_left(process: OsProcess) -> bool:
        if not bears_mark(process):
            return False
        owner = Owner.parse(process.owner)
        return owner is None or not owner.is_another

    return is_left


def _is_abandoned(process: OsProcess) -> bool:
    if not process.is_mine or process.mark is None:
        return False
    owner = Owner.parse(process.owner)
    return owner is not None and owner.is_gone
