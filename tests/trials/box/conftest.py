"""A box under test: started as the product starts it, always ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trials.box.device_files import DeviceFiles, process_started

READY_LINE = "The server is fired up and ready to roll!"
KIMI = "kimi-k2.5-8x-rtx-pro-6000"
PATIENCE_S = 60.0


@dataclass
class RunningBox:
    """One server of the box."""

    process: subprocess.Popen[bytes]
    port: int
    log_file: Path
    state: Path

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    @property
    def devices(self) -> DeviceFiles:
        return DeviceFiles(self.state)

    @property
    def schedulers(self) -> list[int]:
        return sorted({holding.pid for holding in self.devices.holdings()})

    def wait_for(self, text: str) -> RunningBox:
        """Wait for a line of the log."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.log:
            assert time.monotonic() < end, f"no {text!r} in\n{self.log[-3000:]}"
            assert self.process.poll() is None or text in self.log, (
                f"died before {text!r}:\n{self.log[-3000:]}"
            )
            time.sleep(0.01)
        return self

    def wait_ready(self) -> RunningBox:
        return self.wait_for(READY_LINE)

    def wait_exit(self) -> int:
        return self.process.wait(PATIENCE_S)

    def get(self, path: str) -> tuple[int, bytes]:
        return self._open(urllib.request.Request(self._url(path)))

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        status, reply = self._open(urllib.request.Request(self._url(path), json.dumps(body).encode()))
        assert status == 200, (status, reply)
        value: dict[str, Any] = json.loads(reply)
        return value

    def generate(self, text: str = "Once upon a time", tokens: int = 8, **more: Any) -> dict[str, Any]:
        sampling = {"max_new_tokens": tokens, "ignore_eos": True}
        return self.post("/generate", {"text": text, "sampling_params": sampling, **more})

    def info(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.get("/server_info")[1])
        return value

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.wait_exit()

    def kill_all(self) -> None:
        for pid in self.schedulers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @staticmethod
    def _open(request: urllib.request.Request) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()


StartBox = Callable[..., RunningBox]


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.fixture
def start_box(tmp_path: Path) -> Iterator[StartBox]:
    """Start a box: name, SGLang's flags, faults, more environment. All share one state folder."""
    started: list[RunningBox] = []

    def start(
        *flags: str,
        box: str = KIMI,
        faults: list[dict[str, Any]] | None = None,
        port: int | None = None,
        tp: int = 8,
        **environment: str,
    ) -> RunningBox:
        port = port or free_port()
        log_file = tmp_path / f"server-{len(started)}.log"
        command = [sys.executable, "-m", "trials.box", box, "--model-path", "some/model", "--port", str(port)]
        state = tmp_path / "gpus"
        own = {
            "AUTOTUNE_BOX_STATE": str(state),
            "AUTOTUNE_BOX_FAULTS": json.dumps(faults or []),
            "AUTOTUNE_BOX_TIME_SCALE": "0.0003",
        }
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                [*command, "--tp-size", str(tp), *flags],
                stdout=log,
                stderr=log,
                env=os.environ | own | environment,
                start_new_session=True,
            )
        started.append(RunningBox(process, port, log_file, state))
        return started[-1]

    yield start
    for box in started:
        box.kill_all()


def is_alive(pid: int) -> bool:
    return process_started(pid) is not None


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)
