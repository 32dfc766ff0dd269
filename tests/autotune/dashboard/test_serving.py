from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from autotune.dashboard.__main__ import address, listen, main
from tests.db.nights import Night, completed


@contextmanager
def _dashboard(night: Night) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "autotune.dashboard", str(night.path.parent.parent), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def test_a_taken_port_gives_way_to_the_next() -> None:
    with listen("127.0.0.1", 0) as first:
        taken = first.getsockname()[1]
        with listen("127.0.0.1", taken) as second:
            assert second.getsockname()[1] > taken
            assert address(second, "127.0.0.1") == f"http://127.0.0.1:{second.getsockname()[1]}/"


def test_an_address_of_another_machine_is_refused(capsys: pytest.CaptureFixture[str], night: Night) -> None:
    assert main([str(night.path), "--host", "192.0.2.1", "--port", "8760"]) == 1
    assert "cannot listen on 192.0.2.1" in capsys.readouterr().err


def test_nothing_to_show_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["/no/such/study.db"]) == 1
    assert "no such study file or studies folder" in capsys.readouterr().err


@pytest.mark.slow
def test_a_watched_dashboard_ends_at_once_when_told_to(night: Night) -> None:
    with _dashboard(night) as (process, home):
        assert httpx.get(f"{home}healthz").json()["status"] == "ok"
        with httpx.stream("GET", f"{home}api/studies/night/events", timeout=20) as stream:
            assert next(stream.iter_lines()) == "event: study"
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) in (0, -signal.SIGTERM)


@pytest.mark.slow
def test_a_night_goes_on_when_its_dashboard_is_killed(night: Night) -> None:
    with _dashboard(night) as (process, home):
        night.play(completed(82.0))
        assert len(httpx.get(f"{home}api/studies/night/trials").json()) == 1
        process.kill()
        process.wait()
        night.play(completed(83.0))
        assert night.study.best_value == 83.0
    with socket.socket() as port:
        port.bind(("127.0.0.1", httpx.URL(home).port or 0))
