"""Four trials on the real SGLang: two that work, two that cannot, and the winner's command run as it is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.sglang_cpu.environment import SMALL, SMALL_FRACTION, SglangCpu
from tests.sglang_cpu.real_study import RealStudy, autotune, run_study
from trials.marks import marked_processes
from trials.ports import fresh_port

pytestmark = [pytest.mark.sglang, pytest.mark.timeout(1500)]

_SPACE = f"""
[space]
mem_fraction_static = [0.0001, {SMALL_FRACTION}]
speculative_algorithm = ["off", "EAGLE3"]
speculative_num_steps = [3]
speculative_eagle_topk = [1]
"flag.prefill-attention-backend" = ["intel_amx", "fa3"]
"flag.decode-attention-backend" = ["intel_amx", "fa3"]
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


@dataclass(frozen=True)
class Tuned:
    """The study, and the port that its exported command listens on."""

    study: RealStudy
    port: int


def _long_prompts(folder: Path) -> str:
    """Prompts of about 1,400 tokens.

    On a CPU, free memory is what the whole machine leaves: when other programs give some back during a boot,
    the fraction 0.0001 leaves a pool of about 1,000 tokens instead of none. Then no prompt fits into it.
    """
    file = folder / "long.jsonl"
    text = "hello world, how are you today? " * 160
    file.write_text("".join(json.dumps({"prompt": f"{number} {text}"}) + "\n" for number in range(8)))
    return str(file)


@pytest.fixture(scope="module")
def tuned(sglang_cpu: SglangCpu, tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    folder = tmp_path_factory.mktemp("real")
    port = fresh_port(())
    space = (
        _SPACE
        + _known_good(SMALL_FRACTION, "off")
        + _known_good(SMALL_FRACTION, "EAGLE3")
        + _known_good(0.0001, "off")
        + _known_good(SMALL_FRACTION, "off", "fa3")
    )
    args = [*SMALL, "--host", "127.0.0.1", "--port", str(port)]
    study = run_study(
        folder,
        sglang_cpu,
        name="real",
        trials=4,
        args=args,
        space=space,
        timeout_s=1400,
        prompts=_long_prompts(folder),
    )
    return Tuned(study, port)


@pytest.fixture
def study(tuned: Tuned) -> RealStudy:
    return tuned.study


def test_two_work_and_two_fail_with_the_right_kind(study: RealStudy) -> None:
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "COMPLETE", "PRUNED", "PRUNED"]
    kinds = [trial.user_attrs["failure"]["kind"] for trial in study.trials[2:]]
    assert kinds == ["kv_pool_too_small", "unsupported_kernel"]


def test_the_perfect_draft_is_seen(study: RealStudy) -> None:
    plain, speculative = (trial.user_attrs["measurements"][0] for trial in study.trials[:2])
    assert speculative["accept_length"] == pytest.approx(4.0, abs=0.3)
    assert plain["accept_length"] is None
    assert speculative["decode_tok_s"] > plain["decode_tok_s"]


def test_no_process_is_left(study: RealStudy) -> None:
    assert marked_processes(study.uuid) == []


def test_the_exported_command_boots_a_server_that_answers(tuned: Tuned) -> None:
    script = tuned.study.folder / "launch.sh"
    script.write_text(autotune(tuned.study.folder, "export", "real"))
    url = f"http://127.0.0.1:{tuned.port}"
    with _launched(script):
        _wait_until_healthy(f"{url}/health")
        answer = httpx.post(
            f"{url}/v1/chat/completions",
            json={"model": "x", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 8},
            timeout=60,
            trust_env=False,
        )
    assert answer.status_code == 200
    assert answer.json()["usage"]["completion_tokens"] == 8


@contextmanager
def _launched(script: Path) -> Iterator[None]:
    with script.with_suffix(".log").open("wb") as log:
        server = subprocess.Popen(
            ["bash", str(script)], cwd=script.parent, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _wait_until_healthy(url: str) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            if httpx.get(url, timeout=5, trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    pytest.fail("the exported command did not boot within 300 s")
