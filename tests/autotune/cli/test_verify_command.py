"""``autotune verify`` boots the simulated box."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from autotune.arms import Estimate
from autotune.cli.main import app
from autotune.export import FORMATS
from autotune.export._base import Reached
from tests.autotune.export.test_export_formats import EXPORTED
from tests.trials import own_place
from tests.trials.box.conftest import KIMI
from trials.outcome import BootReport
from trials.process_table import snapshot


def autotune(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def write_passport(file: Path, tok_s: float, **changes: Any) -> Path:
    recorded = dataclasses.replace(
        EXPORTED,
        server={"box": KIMI, "model_path": "moonshotai/Kimi-K2.5"},
        argv=(
            *("python", "-m", "trials.box", KIMI, "--model-path", "moonshotai/Kimi-K2.5", "--tp-size", "8"),
            *("--mem-fraction-static", "0.86", "--disable-custom-all-reduce", "--port", "30000"),
        ),
        bench={"levels": [1], "output_tokens": 64, "max_seconds_per_level": 1},
        settings={"layout": "tp8", "mem_fraction_static": 0.86, "all_reduce": "nccl"},
        reached=[Reached(1, Estimate(tok_s, (tok_s * 0.9, tok_s * 1.1), 1), None)],
        simulated=True,
        **changes,
    )
    file.write_text(FORMATS["json"].write(recorded))
    return file


@pytest.mark.slow
def test_match_difference_and_failure(tmp_path: Path) -> None:
    right = write_passport(tmp_path / "right.json", 82.0)
    result = autotune("verify", right, "--studies", tmp_path, "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["match"]) == (0, True), told
    assert (Path(told["folder"]) / "server.log").exists()

    wrong = write_passport(tmp_path / "wrong.json", 200.0, boot=BootReport(kv_tokens=5))
    result = autotune("verify", wrong, "--studies", tmp_path)
    assert result.exit_code == 1
    assert (
        "No match (SIMULATED: no number of it is real): KV tokens, tok/s at 1 stream differ." in result.stdout
    )


@pytest.mark.slow
def test_the_server_of_a_killed_verify_is_stopped_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passport = write_passport(tmp_path / "p.json", 82.0)
    program = f"{own_place.settle(monkeypatch, tmp_path)}\nfrom autotune.cli.main import main; main()"
    words = [sys.executable, "-c", program, "verify", str(passport), "--studies", str(tmp_path)]
    killed = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    server = next(int(line.split()[-1]) for line in killed.stdout if line.startswith("boot 1: process "))
    assert any(" start" in line for line in killed.stdout), "its schedulers are being started"
    killed.kill()
    killed.communicate()
    assert session(server)
    again = subprocess.run(words, capture_output=True, text=True, check=False, timeout=110)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "servers whose autotune had been killed" in again.stdout
    assert session(server) == []


def session(leader: int) -> list[int]:
    return [process.pid for process in snapshot().values() if process.session == leader and not process.dead]


def test_a_file_that_is_no_passport(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text("{}")
    result = autotune("verify", file)
    assert result.exit_code == 2
    assert "is no passport" in result.stderr
