"""``autotune start`` and after it: a terminal that closes, a second start, a kill, a stop, the page."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autotune.cli.status import read_status
from autotune.night.lasting_page import end_lasting_page
from tests.e2e.box_study import BoxStudy, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def study(tmp_path: Path) -> Iterator[BoxStudy]:
    study = BoxStudy.write(tmp_path, trials=40)
    with (tmp_path / "study.toml").open("a") as file:
        file.write(f"\n[dashboard]\nport = {_free_port()}\n")
    yield study
    _autotune(study, "stop", "--now")
    end_lasting_page(study.study)


def test_a_started_night_outlives_its_terminal_and_its_page_outlives_the_night(study: BoxStudy) -> None:
    said = _start_in_a_session_that_hangs_up(study)
    url = next(word for word in said.split() if word.startswith("http://"))
    wait_until(lambda: len(study.trials()) > 1)
    second = _autotune(study, "start", "study.toml")
    assert second.returncode == 1
    assert f"is already being run by process {_status(study)['runner']['pid']} on" in second.stderr
    stopped = _autotune(study, "stop", "--now")
    assert stopped.returncode == 0, stopped.stderr
    assert "stopped before its end" in stopped.stdout
    assert study.processes() == []
    assert _answers(url)
    assert _autotune(study, "stop").returncode == 3
    assert _autotune(study, "stop", "--page").returncode == 0
    assert not _answers(url)


def test_a_killed_runner_is_taken_over_with_a_word_and_its_page_is_kept(study: BoxStudy) -> None:
    assert _autotune(study, "start", "study.toml").returncode == 0
    study.wait_for_stage(0, "load_weights")
    before = _status(study)
    os.kill(before["runner"]["pid"], signal.SIGKILL)
    wait_until(lambda: _status(study)["state"] == "died")
    again = _autotune(study, "start", "study.toml")
    assert again.returncode == 0, again.stderr
    assert _status(study)["page"] == before["page"]
    wait_until(lambda: "died; its study is taken over" in (study.study / "run.log").read_text())


def test_what_the_runner_refuses_is_said_at_once(study: BoxStudy) -> None:
    assert _autotune(study, "start", "study.toml", "--no-dashboard").returncode == 0
    assert _autotune(study, "stop", "--now").returncode == 0
    file = study.folder / "study.toml"
    file.write_text(file.read_text().replace("[64, 128, 256, 512]", "[64, 128, 512]"))
    refused = _autotune(study, "start", "study.toml")
    assert refused.returncode == 2
    assert "cuda_graph_max_bs" in refused.stderr
    assert _status(study)["page"] is None


def _start_in_a_session_that_hangs_up(study: BoxStudy) -> str:
    """As a login shell that ends and tells all its processes so."""
    program = (
        "import os, signal, subprocess, sys\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # whoever runs the tests may ignore it
        "subprocess.run([sys.executable, '-m', 'autotune', 'start', 'study.toml'], check=True)\n"
        "os.killpg(0, signal.SIGHUP)\n"
    )
    shell = subprocess.run(
        [sys.executable, "-c", program],
        cwd=study.folder,
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=100,
        check=False,
    )
    assert shell.returncode == -signal.SIGHUP, shell.stderr
    return shell.stdout


def _autotune(study: BoxStudy, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "autotune", *words],
        cwd=study.folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def _status(study: BoxStudy) -> Any:
    return read_status(study.database).to_json()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
