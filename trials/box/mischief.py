"""How the faults strike inside a scheduler."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from trials.box import words
from trials.box.console import Console
from trials.box.faults import Fault
from trials.box.tree import Rank

if TYPE_CHECKING:
    from trials.box.setting_up import Setup

_FLOOD_LINE = (
    "NCCL INFO NET/Plugin: retrying, no peer answered on channel 00/0 : 0[0] -> 1[1] via SHM/direct "
)
_WATCHDOG_S = 300.0


@dataclass
class SchedulerDiedError(Exception):
    """A scheduler's last words.

    Attributes:
        others_follow: The other ranks die of what this one did, and are heard before the launcher ends all.
    """

    stage: str
    error: str
    frames: tuple[str, ...] = ()
    others_follow: bool = False


def strike_at_stage(setup: Setup, rank: Rank, console: Console, stage: str) -> None:
    """Let the faults of one stage strike this rank.

    Raises:
        SchedulerDiedError: If one of them kills it with an exception.
    """
    for fault in setup.faults.at_stage(stage, rank.number):
        strike(setup, console, fault, stage)


def strike(setup: Setup, console: Console, fault: Fault, stage: str) -> None:
    """Let one fault strike now.

    Raises:
        SchedulerDiedError: If it kills the scheduler with an exception.
    """
    if fault.kind == "hang":
        hang(setup, console, fault)
    elif fault.kind == "kernel_fault":
        raise SchedulerDiedError(stage, words.KERNEL_FAULT)
    elif fault.kind == "disk_full":
        raise SchedulerDiedError(stage, words.DISK_FULL)
    elif fault.kind == "gpu_lost":
        setup.devices.lose(fault.card, fault.seconds)
        raise SchedulerDiedError(stage, words.GPU_LOST)
    elif fault.kind == "scheduler_dies":
        die_of(fault.signal or signal.SIGKILL)
    elif fault.kind == "abort_on_first_forward":
        die_of(fault.signal or signal.SIGABRT)
    elif fault.kind == "log_flood":
        flood(console, fault.mib)


def hang(setup: Setup, console: Console, fault: Fault) -> NoReturn:
    """Stop for good; with a watchdog, SGLang's watchdog ends the server after its time-out."""
    parent = os.getppid()
    if fault.watchdog:
        timeout = float(setup.args.table.get("watchdog_timeout") or _WATCHDOG_S)
        time.sleep(setup.scaled(timeout, least=0.2))
        console.log(f"Scheduler watchdog timeout (self.watchdog_timeout={timeout:g}, self.soft=False)")
        console.raw("")
        time.sleep(setup.scaled(5))
        os.kill(parent, signal.SIGQUIT)
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def die_of(number: int) -> NoReturn:
    """Die of a signal at once, as a crash in native code or the kernel would end the process."""
    signal.signal(number, signal.SIG_DFL) if number not in (signal.SIGKILL, signal.SIGSTOP) else None
    os.kill(os.getpid(), number)
    time.sleep(1)
    os._exit(1)


def flood(console: Console, mib: int) -> None:
    """Write so many MiB of log lines."""
    block = "\n".join([_FLOOD_LINE * 4] * 256)
    for _ in range(mib * (1 << 20) // len(block) + 1):
        console.raw(block)
