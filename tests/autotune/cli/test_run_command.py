from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from autotune.cli.main import app
from trials.process_table import snapshot

SPEC = """\
[study]
name = "demo"
trials = 2
seed = 1
[server]
box = "kimi-k2.5-8x-rtx-pro-6000"
model_path = "moonshotai/Kimi-K2.5"
[space]
cuda_graph_max_bs = [128, 512]
layout = ["tp8"]
all_reduce = ["nccl"]
[bench]
output_tokens = 32
max_seconds_per_level = 0.5
[[known_good]]
cuda_graph_max_bs = 512
layout = "tp8"
all_reduce = "nccl"
"""


def autotune(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.slow
def test_a_study_runs_shows_its_winner_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(SPEC)
    words = ("run", file, "--studies", tmp_path, "--no-dashboard")
    result = autotune(*words)
    assert result.exit_code == 0, result.output
    assert "trial 0 (1 of 2) baseline" in result.stdout
    assert "is the best:" in result.stdout
    assert "simulated tok/s" in result.stdout
    again = autotune(*words)
    assert again.exit_code == 0
    assert "trial 2" not in again.stdout
    passport = json.loads(autotune("export", "--studies", tmp_path, "--format", "json").stdout)
    assert passport["simulated"] is True


@pytest.mark.slow
def test_the_exported_script_boots_a_server_on_the_users_own_port(tmp_path: Path) -> None:
    port = free_port()
    file = tmp_path / "study.toml"
    arguments = f'args = ["--port", "{port}"]\n[space]'
    file.write_text(SPEC.replace("[space]", arguments).replace("trials = 2", "trials = 1"))
    assert autotune("run", file, "--studies", tmp_path, "--no-dashboard").exit_code == 0
    script = tmp_path / "launch.sh"
    script.write_text(autotune("export", "--studies", tmp_path).stdout)
    environment = {**os.environ, "AUTOTUNE_BOX_STATE": str(tmp_path / "box")}
    server = subprocess.Popen(["sh", script], start_new_session=True, env=environment)
    try:
        assert answers(f"http://127.0.0.1:{port}/health_generate")
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait(30)


@pytest.mark.slow
def test_the_demo_prints_its_page_first_and_the_command_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = tmp_path / "demo.toml"
    small.write_text(SPEC)
    monkeypatch.setattr("autotune.cli.run.preset", lambda _: small)
    result = autotune("demo", "--once", "--studies", tmp_path / "studies")
    assert result.exit_code == 0, result.output
    lines = result.stdout.strip().splitlines()
    assert lines[0].startswith("dashboard: http://127.0.0.1:")
    assert lines[-1].strip().startswith("--port")
    (folder,) = (tmp_path / "studies").iterdir()
    assert folder.name.startswith("demo-")


@pytest.mark.slow
def test_a_server_that_is_not_there_is_bad_input_and_leaves_no_study(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(SPEC.replace('box = "kimi-k2.5-8x-rtx-pro-6000"', 'command = ["/no/python"]'))
    result = autotune("run", file, "--studies", tmp_path / "studies", "--no-dashboard")
    assert result.exit_code == 2
    assert "/no/python" in result.stderr
    assert not (tmp_path / "studies").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_serve_answers_until_it_is_ended(end: signal.Signals, code: int, tmp_path: Path) -> None:
    port = free_port()
    words = ["serve", "--studies", str(tmp_path), "--port", str(port)]
    script = "from autotune.cli.main import main; main()"
    serve = subprocess.Popen([sys.executable, "-c", script, *words], start_new_session=True)
    try:
        assert answers(f"http://127.0.0.1:{port}/healthz")
    finally:
        serve.send_signal(end)
    assert serve.wait(30) == code
    assert not [process for process in snapshot().values() if process.session == serve.pid]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def answers(url: str) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            time.sleep(0.2)
    return False
