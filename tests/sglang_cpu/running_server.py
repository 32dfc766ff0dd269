"""A server that is simply there: tests measure it, and it holds a port against others."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.sglang_cpu.environment import SMALL, SMALL_FRACTION, SPECULATIVE_ATTENTION, SglangCpu
from trials.measure_errors import MeasureError
from trials.ports import fresh_port
from trials.readiness import ready_generation

BOOT_S = 400.0
SLOTS = 8
DRAFT_TOKENS = 4


@dataclass(frozen=True)
class RunningServer:
    """tiny-copy with a draft that is always right: its accept length is the number of draft tokens."""

    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def speculative_server(sglang: SglangCpu, folder: Path) -> Iterator[RunningServer]:
    """Started before the block and killed behind it."""
    server = RunningServer(fresh_port(()), folder / "server.log")
    speculation = (
        *("--speculative-algorithm", "EAGLE3"),
        *("--speculative-draft-model-path", sglang.model("tiny-copy-eagle3")),
        *("--speculative-num-steps", "3", "--speculative-eagle-topk", "1"),
        *("--speculative-num-draft-tokens", str(DRAFT_TOKENS)),
    )
    command = (
        *(*sglang.command, "--model-path", sglang.model("tiny-copy"), *SMALL, "--port", str(server.port)),
        *("--mem-fraction-static", str(SMALL_FRACTION), *SPECULATIVE_ATTENTION, *speculation),
        "--sleep-on-idle",
    )
    with server.log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, env={**os.environ, **sglang.env}, start_new_session=True
        )
    try:
        _wait_until_ready(server, process)
        yield server
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_until_ready(server: RunningServer, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + BOOT_S
    while True:
        assert time.monotonic() < end, server.log.read_text()[-3000:]
        assert process.poll() is None, server.log.read_text()[-3000:]
        try:
            ready_generation(server.url, 20.0)
        except MeasureError:
            time.sleep(1)
        else:
            return
