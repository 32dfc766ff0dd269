"""The launcher: starts the tree, waits for it, serves HTTP, and dies the way SGLang's launcher dies."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from trials.box import words
from trials.box.children import Child, fork_children
from trials.box.console import Console
from trials.box.foreigners import meet_foreigners
from trials.box.memory import CardMemory
from trials.box.release import release
from trials.box.server_args import ServerArgs
from trials.box.setting_up import Setup
from trials.box.wire import Inbox

_POLL_S = 0.005
_TIMINGS_SINCE = (0, 5, 14)
_LAST_WORDS_S = 0.05
_DEAD_CHILD_TAKES_S = 0.5


class _ChildFailed(BaseException):
    """SIGQUIT came: a child has died with an exception."""


class Launcher:
    """One server from its first line to its last."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.console = Console()
        self.children: list[Child] = []
        self.boot_seconds: dict[str, float] = {}
        self.memory: list[CardMemory] = []

    def run(self, import_serve: Callable[[], Callable[[Launcher], int]]) -> int:
        """Boot, serve, stop; the exit code where it ends in order.

        Args:
            import_serve: Gives what serves HTTP; asyncio is imported while the schedulers boot.
        """
        self._first_lines(self.setup.args)
        meet_foreigners(self.setup)
        self.setup.look_at_cards()
        signal.signal(signal.SIGQUIT, _raise_child_failed)
        try:
            self.children = fork_children(self.setup)
            serve = import_serve()
            if not self._wait_for_children():
                return 1
            self._timings_line()
            return serve(self)
        except _ChildFailed:
            self.console.log("Received sigquit from a child process. It usually means the child failed.")
            time.sleep(_LAST_WORDS_S)
            self.kill_everything()

    def _first_lines(self, args: ServerArgs) -> None:
        self.console.raw(words.LAUNCH_WARNING)
        for notice in args.notices:
            self.console.log(notice)
        self.console.log(f"server_args={server_args_text(self.setup)}")
        self.console.log("Using default HuggingFace chat template with detected content format: string")

    def _wait_for_children(self) -> bool:
        """Wait for every child's ready message; False when one died without SGLang's SIGQUIT."""
        inboxes = {child.sock: (child, Inbox()) for child in self.children}
        while inboxes:
            readable, _, _ = select.select(list(inboxes), [], [], _POLL_S)
            for sock in readable:
                child, inbox = inboxes[sock]
                data = sock.recv(1 << 16)
                if not data:
                    self._died_in_boot(child)
                    return False
                for _, seconds, memory in inbox.feed(data):
                    self.boot_seconds.update(seconds)
                    if memory:
                        self.memory.append(CardMemory(**memory))
                    del inboxes[sock]
        return True

    def _died_in_boot(self, child: Child) -> None:
        time.sleep(_DEAD_CHILD_TAKES_S if self._exit_code(child) is None else 0)
        code = self._exit_code(child)
        rank = child.rank.number if child.rank else 0
        self.console.log(
            f"kill_process_tree called: parent_pid={os.getpid()}, include_parent=False, pid={os.getpid()}"
        )
        self.kill_children()
        frames = (
            "entrypoints/http_server.py:3156:launch_server:) = Engine._launch_subprocesses(",
            "entrypoints/engine.py:2029:_wait_for_scheduler_ready:raise _scheduler_died_error(i, procs[i])",
        )
        error = (
            f"RuntimeError: Rank {rank} scheduler died during initialization (exit code: {code}). "
            f"{words.OOM_KILLER_SENTENCE}"
        )
        self.console.raw(words.traceback_text(frames, error))

    def _exit_code(self, child: Child) -> int | None:
        with contextlib.suppress(ChildProcessError):
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                child.exit_code = os.waitstatus_to_exitcode(status)
        return child.exit_code

    def dead_child(self) -> tuple[Child, int] | None:
        """A child that has ended, with its exit code."""
        for child in self.children:
            code = self._exit_code(child)
            if code is not None:
                return child, code
        return None

    def _timings_line(self) -> None:
        if release(self.setup.box.sglang_version) < _TIMINGS_SINCE:
            return
        graphs = {
            "prefill": 0.0,
            "decode": self.boot_seconds.get("target decode", 0.0),
            "target_verify": self.boot_seconds.get("target verify", 0.0),
            "draft_prefill": 0.0,
            "draft_decode": self.boot_seconds.get("draft decode", 0.0),
            "draft_extend": self.boot_seconds.get("draft extend", 0.0),
        }
        text = ", ".join(f"{name}={seconds:.2f}" for name, seconds in graphs.items())
        total = sum(self.boot_seconds.values()) + self.setup.box.boot.init_distributed
        self.console.log(
            f"Engine startup timings (s): load_weight={self.boot_seconds['load_weight']:.2f}, "
            f"kv_cache_allocation={self.boot_seconds['kv_cache_allocation']:.2f}, scheduler_e2e={total:.2f}, "
            f"cuda_graph={{{text}}}, tokenizer_e2e={total + self.setup.box.boot.start:.2f}"
        )

    def kill_children(self) -> None:
        """SIGKILL to every child but the one that a fault lets live on."""
        stubborn = self.setup.faults.get("orphan_scheduler")
        for child in self.children:
            spared = stubborn and child.rank and child.rank.number == stubborn.rank
            if not spared and child.exit_code is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGKILL)

    def kill_everything(self) -> NoReturn:
        """SGLang's end after any child's failure: the tree, itself included, by SIGKILL."""
        pid = os.getpid()
        self.console.log(f"kill_process_tree called: parent_pid={pid}, include_parent=True, pid={pid}")
        self.kill_children()
        os.kill(pid, signal.SIGKILL)
        sys.exit(1)


def server_args_text(setup: Setup) -> str:
    """A dict since 0.5.19, an object's repr before."""
    if release(setup.box.sglang_version) >= (0, 5, 19):
        return repr(setup.args.table)
    fields = ", ".join(f"{name}={value!r}" for name, value in setup.args.table.items())
    return f"ServerArgs({fields})"


def _raise_child_failed(number: int, frame: object) -> None:
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    raise _ChildFailed
