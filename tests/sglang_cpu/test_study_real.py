"""Four trials on the real SGLang: two that work, two that cannot, and the winner's command run as it is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import optuna
import pytest
from optuna.trial import FrozenTrial

from db import queries
from db.engine import open_reader, open_storage
from tests.sglang_cpu.environment import SMALL, SMALL_FRACTION, SglangCpu
from trials.marks import marked_processes
from trials.ports import fresh_port

pytestmark = [pytest.mark.sglang, pytest.mark.timeout(600)]

_STUDY = """
[study]
name = "real"
trials = 4
seed = 1

[server]
command = {command}
model_path = "{model}"
args = {args}
env = {env}
boot_timeout_s = 240

[speculation]
draft_model_path = "{draft}"

[space]
mem_fraction_static = [0.0001, {fraction}]
speculative_algorithm = ["off", "EAGLE3"]
speculative_num_steps = [3]
speculative_eagle_topk = [1]
"flag.prefill-attention-backend" = ["intel_amx", "fa3"]
"flag.decode-attention-backend" = ["intel_amx", "fa3"]

[bench]
levels = [1]
output_tokens = 128
max_seconds_per_level = 6

[finals]
boots = 0
"""

_KNOWN_GOOD = """
[[known_good]]
mem_fraction_static = {fraction}
speculative_algorithm = "{algorithm}"
{speculation}
"flag.prefill-attention-backend" = "{attention}"
"flag.decode-attention-backend" = "{attention}"
"""

_STEPS = "speculative_num_steps = 3\nspeculative_eagle_topk = 1"


def _known_good(fraction: float, algorithm: str, attention: str = "intel_amx") -> str:
    speculation = _STEPS if algorithm != "off" else ""
    return _KNOWN_GOOD.format(
        fraction=fraction, algorithm=algorithm, speculation=speculation, attention=attention
    )


def _study_file(folder: Path, sglang: SglangCpu, port: int) -> Path:
    args = [*SMALL, "--host", "127.0.0.1", "--port", str(port)]
    env = ", ".join(f"{name} = {json.dumps(value)}" for name, value in sglang.env.items())
    text = _STUDY.format(
        command=json.dumps(list(sglang.command)),
        model=sglang.model("tiny-copy"),
        draft=sglang.model("tiny-copy-eagle3"),
        args=json.dumps(args),
        env="{ " + env + " }",
        fraction=SMALL_FRACTION,
    )
    text += _known_good(SMALL_FRACTION, "off")
    text += _known_good(SMALL_FRACTION, "EAGLE3")
    text += _known_good(0.0001, "off")
    text += _known_good(SMALL_FRACTION, "off", "fa3")
    file = folder / "study.toml"
    file.write_text(text)
    return file


def _autotune(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "autotune", *words]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=550, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@dataclass(frozen=True)
class Study:
    folder: Path
    port: int

    @property
    def trials(self) -> list[FrozenTrial]:
        file = self.folder / "studies" / "real" / "study.db"
        return optuna.load_study(study_name="real", storage=open_storage(file)).trials

    @property
    def uuid(self) -> str:
        with (
            open_reader(self.folder / "studies" / "real" / "study.db") as reader,
            reader.connect() as connection,
        ):
            card = queries.study(connection)
        assert card is not None
        return card.uuid


@pytest.fixture(scope="module")
def study(sglang_cpu: SglangCpu, tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("real")
    port = fresh_port(())
    file = _study_file(folder, sglang_cpu, port)
    _autotune(folder, "run", str(file), "--no-dashboard")
    return Study(folder, port)


def test_two_work_and_two_fail_with_the_right_kind(study: Study) -> None:
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "COMPLETE", "PRUNED", "PRUNED"]
    kinds = [trial.user_attrs["failure"]["kind"] for trial in study.trials[2:]]
    assert kinds == ["kv_pool_too_small", "unsupported_kernel"]


def test_the_perfect_draft_is_seen(study: Study) -> None:
    plain, speculative = (trial.user_attrs["measurements"][0] for trial in study.trials[:2])
    assert speculative["accept_length"] == pytest.approx(4.0, abs=0.3)
    assert plain["accept_length"] is None
    assert speculative["decode_tok_s"] > plain["decode_tok_s"]


def test_no_process_is_left(study: Study) -> None:
    assert marked_processes(study.uuid) == []


def test_the_exported_command_boots_a_server_that_answers(study: Study) -> None:
    script = study.folder / "launch.sh"
    script.write_text(_autotune(study.folder, "export", "real"))
    with _launched(script) as url:
        _wait_until_healthy(url.format(port=study.port))
        answer = httpx.post(
            f"http://127.0.0.1:{study.port}/v1/chat/completions",
            json={"model": "x", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 8},
            timeout=60,
            trust_env=False,
        )
    assert answer.status_code == 200
    assert answer.json()["usage"]["completion_tokens"] == 8


@contextmanager
def _launched(script: Path) -> Iterator[str]:
    with script.with_suffix(".log").open("wb") as log:
        server = subprocess.Popen(
            ["bash", str(script)], cwd=script.parent, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield "http://127.0.0.1:{port}/health"
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _wait_until_healthy(url: str) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        try:
            if httpx.get(url, timeout=5, trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    pytest.fail("the exported command did not boot within 180 s")
