"""Small programs started as servers, and a card whose memory the test decides."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trials.command import Command
from trials.gpus import GpuCard, GpuProcess, GpuSample
from trials.marks import stop_marked
from trials.no_gpus import NoGpus
from trials.process_table import look_up
from trials.server import Container, ServerProcess
from trials.stopping import StopPolicy, StopProof

IDLE_MIB = 10
WAIT_S = 20.0

# Patient where a stop succeeds, so that a busy machine fails no test; BRIEF is for stops that must fail.
PATIENT = StopPolicy(grace_s=0.5, orphan_grace_s=0.1, settle_s=0.05, release_s=20, hurried_s=20, poll_s=0.02)
BRIEF = replace(PATIENT, release_s=0.3, hurried_s=0.3)

DAEMON = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open("daemon.new", "w").write(f"{os.getpid()}\\n")
        os.rename("daemon.new", "daemon")
        THEN
    os._exit(0)
"""


class FakeProbe:
    """One card. ``level`` says what is in use, MiB, and may raise; ``holders`` are its processes."""

    def __init__(self) -> None:
        self.level: Callable[[], int] = lambda: IDLE_MIB
        self.holders: list[GpuProcess] = []

    def cards(self) -> Sequence[GpuCard]:
        return [GpuCard(0, "Fake", "GPU-0", 97_887, None)]

    def sample(self) -> Sequence[GpuSample]:
        return [GpuSample(0, self.level())]

    def processes(self) -> Sequence[GpuProcess]:
        return self.holders

    def faults(self) -> Sequence[str]:
        return []

    def driver_version(self) -> str | None:
        return None

    def topology(self) -> str | None:
        return None

    def close(self) -> None:
        return None


class Launch:
    """Starts Python programs as servers in a folder, and ends all of them after the test."""

    brief = BRIEF
    patient = PATIENT

    def __init__(self, folder: Path, probe: FakeProbe) -> None:
        self.folder = folder
        self.log = folder / "trial" / "server.log"
        self.study = f"test-{os.getpid()}-{folder.name}"
        self.mark = f"{self.study}:1:1"
        self._probe = probe
        self._servers: list[ServerProcess] = []

    def __call__(self, program: str, container: Container | None = None, **env: str) -> ServerProcess:
        # -S: no site-packages, so that a program starts in a few hundredths of a second.
        command = Command((sys.executable, "-S", "-c", program), env)
        server = ServerProcess.start(command, log_path=self.log, mark=self.mark, container=container)
        self._servers.append(server)
        return server

    def daemon(self, then: str = "time.sleep(60)") -> ServerProcess:
        """A server that ends at once and leaves a deaf child that left its session; see ``daemon_pid``."""
        program = DAEMON.replace("THEN", textwrap.indent(then, " " * 8).lstrip())
        return self(f"import os; os.chdir({str(self.folder)!r})\n{program}")

    def daemon_pid(self) -> int:
        path = self.folder / "daemon"
        self.wait_for(path.exists)
        return int(path.read_text())

    def stop(
        self,
        server: ServerProcess,
        *,
        idle: Mapping[int, int] | None = None,
        policy: StopPolicy = PATIENT,
        **how: Any,
    ) -> StopProof:
        before = {0: IDLE_MIB} if idle is None else idle
        return server.stop(self._probe, before, policy=policy, **how)

    def stop_marked(
        self, prefix: str, idle: Mapping[int, int] | None = None, policy: StopPolicy = PATIENT
    ) -> StopProof:
        return stop_marked(prefix, self._probe, {0: IDLE_MIB} if idle is None else idle, policy=policy)

    def wait_until_it_says(self, text: str) -> None:
        self.wait_for(lambda: text in self.log.read_text().partition("\n")[2])  # the first line is ours

    def exit_code(self, server: ServerProcess) -> int | None:
        self.wait_for(lambda: server.poll() is not None)
        return server.poll()

    @staticmethod
    def lives(pid: int) -> bool:
        process = look_up(pid)
        return process is not None and not process.dead

    @staticmethod
    def wait_for(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.01)

    def clean(self) -> None:
        for server in self._servers:
            server.stop(NoGpus(), {}, policy=PATIENT, now=True)
        stop_marked(self.mark, NoGpus(), {}, policy=PATIENT)


@pytest.fixture
def probe() -> FakeProbe:
    return FakeProbe()


@pytest.fixture
def launch(tmp_path: Path, probe: FakeProbe) -> Iterator[Launch]:
    launch = Launch(tmp_path, probe)
    yield launch
    launch.clean()
