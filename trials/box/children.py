"""The launcher's children: forked, not started anew, so that a whole tree costs milliseconds."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from trials.box import words
from trials.box.boot import SchedulerBoot
from trials.box.console import Console
from trials.box.engine import Engine
from trials.box.mischief import SchedulerDiedError
from trials.box.setting_up import Setup
from trials.box.tree import Rank, name_process, ranks_of
from trials.box.wire import send

_ORPHAN_LIFE_S = 160.0
_STUBBORN_ORPHAN_LIFE_S = 600.0
_OTHERS_FOLLOW_WITHIN_S = 1.0


@dataclass
class Child:
    """One child as the launcher sees it."""

    name: str
    pid: int
    sock: socket.socket
    rank: Rank | None
    exit_code: int | None = None


def fork_children(setup: Setup) -> list[Child]:
    """Start all schedulers and the detokenizer."""
    children: list[Child] = []
    for rank in ranks_of(setup.args):
        children.append(_fork(f"scheduler_{rank.number}", rank, children, _scheduler(setup, rank)))
    children.append(_fork("detokenizer", None, children, _detokenizer(setup)))
    return children


def _fork(
    name: str, rank: Rank | None, siblings: list[Child], body: Callable[[socket.socket], None]
) -> Child:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        ours.close()
        for sibling in siblings:
            sibling.sock.close()
        _run_and_exit(theirs, body)
    theirs.close()
    return Child(name, pid, ours, rank)


def _run_and_exit(sock: socket.socket, body: Callable[[socket.socket], None]) -> NoReturn:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    status = 1
    with contextlib.suppress(OSError):
        body(sock)
        status = 0
    os._exit(status)


def _scheduler(setup: Setup, rank: Rank) -> Callable[[socket.socket], None]:
    def body(sock: socket.socket) -> None:
        name_process(f"sglang::scheduler{rank.tag.replace(' ', '_')}")
        setup.rng.seed(f"{setup.rng.random()}:{rank.number}")
        console = Console(rank.tag)
        launcher = os.getppid()
        _become_stubborn(setup, rank)
        try:
            _boot_and_serve(setup, rank, console, sock)
        except SchedulerDiedError as death:
            console.log(words.scheduler_exception(death.stage, death.error, death.frames))
            if death.others_follow:
                setup.first_death.tell()
                time.sleep(_OTHERS_FOLLOW_WITHIN_S)
            os.kill(launcher, signal.SIGQUIT)
        _outlive(setup, rank, launcher)

    return body


def _boot_and_serve(setup: Setup, rank: Rank, console: Console, sock: socket.socket) -> None:
    boot = SchedulerBoot(setup, rank, console)
    memory = boot.run()
    send(sock, ("ready", boot.seconds, memory.__dict__ if rank.leads else None))
    if rank.leads:
        Engine(setup, rank, console, memory, sock).serve()
    else:
        while sock.recv(1 << 16):
            pass


def _become_stubborn(setup: Setup, rank: Rank) -> None:
    """The fault of a scheduler that ignores SIGTERM and outlives its launcher."""
    fault = setup.faults.get("orphan_scheduler")
    if fault and fault.rank == rank.number:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if fault.own_session:
            os.setsid()


def _outlive(setup: Setup, rank: Rank, launcher: int) -> None:
    fault = setup.faults.get("orphan_scheduler")
    if fault is None or fault.rank != rank.number:
        return
    end = time.monotonic() + (fault.seconds or _STUBBORN_ORPHAN_LIFE_S)
    while time.monotonic() < end:
        time.sleep(0.1)


def _detokenizer(setup: Setup) -> Callable[[socket.socket], None]:
    def body(sock: socket.socket) -> None:
        name_process("sglang::detokenizer")
        launcher = os.getppid()
        time.sleep(setup.scaled(setup.box.boot.start))
        if os.getppid() != launcher:
            time.sleep(setup.scaled(_ORPHAN_LIFE_S, least=1.0))
            return
        send(sock, ("ready", {}, None))
        while sock.recv(1 << 16):
            pass

    return body
