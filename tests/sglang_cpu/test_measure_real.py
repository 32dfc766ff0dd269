"""The measurement against the real SGLang: its counts, its queue, its log-probabilities, its refusals."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sglang_cpu.environment import SMALL, SMALL_FRACTION, SPECULATIVE_ATTENTION, SglangCpu
from trials.measure_errors import MeasureError
from trials.outcome import FailureKind
from trials.ports import fresh_port
from trials.prompts import Prompt, load_prompts
from trials.prompts.reader import Message
from trials.readiness import ready_generation
from trials.sanity import check_output, collect_reference
from trials.settings import BenchPlan
from trials.throughput import measure_level

pytestmark = [pytest.mark.sglang, pytest.mark.timeout(400)]

BOOT_S = 300.0
SLOTS = 8
DRAFT_TOKENS = 4
PROMPTS = [p for p in load_prompts() if len(p.messages) == 1 and len(p.messages[0].content) < 500]


@pytest.fixture(scope="module")
def url(sglang_cpu: SglangCpu, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """tiny-copy with a draft that is always right: the accept length is the number of draft tokens."""
    port = fresh_port(())
    speculation = (
        *("--speculative-algorithm", "EAGLE3"),
        *("--speculative-draft-model-path", sglang_cpu.model("tiny-copy-eagle3")),
        *("--speculative-num-steps", "3", "--speculative-eagle-topk", "1"),
        *("--speculative-num-draft-tokens", str(DRAFT_TOKENS)),
    )
    command = (
        *(*sglang_cpu.command, "--model-path", sglang_cpu.model("tiny-copy"), *SMALL, "--port", str(port)),
        *("--mem-fraction-static", str(SMALL_FRACTION), *SPECULATIVE_ATTENTION, *speculation),
    )
    log = tmp_path_factory.mktemp("real") / "server.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            command, stdout=out, stderr=out, env={**os.environ, **sglang_cpu.env}, start_new_session=True
        )
    try:
        wait_until_ready(f"http://127.0.0.1:{port}", server, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def wait_until_ready(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + BOOT_S
    while True:
        assert time.monotonic() < end, log.read_text()[-3000:]
        assert server.poll() is None, log.read_text()[-3000:]
        try:
            ready_generation(url, 20.0)
        except MeasureError:
            time.sleep(1)
        else:
            return


def test_tokens_of_speculation_are_counted_and_accepted_drafts_read(url: str) -> None:
    bench = BenchPlan(output_tokens=128, max_seconds_per_level=5)
    measurement = measure_level(url, 1, bench, PROMPTS)
    assert measurement.accept_length == pytest.approx(DRAFT_TOKENS, rel=0.02)
    assert measurement.accept_rate == pytest.approx(1.0)
    assert measurement.output_tokens >= 128 * measurement.requests
    assert measurement.decode_tok_s > 10
    assert not any("cut short" in note for note in measurement.notes)


def test_more_streams_than_the_server_runs_are_capped(url: str) -> None:
    bench = BenchPlan(output_tokens=128, max_seconds_per_level=6)
    measurement = measure_level(url, SLOTS + 4, bench, PROMPTS)
    assert (measurement.running, measurement.capped) == (SLOTS, True)


def test_the_baseline_agrees_with_itself(url: str) -> None:
    reference = collect_reference(url)
    assert all(len(a.logprobs) == len(a.token_ids) > 0 and a.prompt_ids for a in reference)
    verdict = check_output(url, reference)
    assert (verdict.judgement, verdict.sentences) == ("ok", ())
    assert verdict.forced_nats == pytest.approx(0.0, abs=0.02)


def test_a_prompt_longer_than_the_context_is_named(url: str) -> None:
    endless = Prompt((Message("user", "a very long story indeed " * 600),))
    with pytest.raises(MeasureError, match="longer than the server's context") as caught:
        measure_level(url, 1, BenchPlan(output_tokens=16), [endless])
    assert caught.value.kind is FailureKind.ENVIRONMENT
