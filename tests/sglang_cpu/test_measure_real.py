"""The measurement against the real SGLang: its counts, its queue, its log-probabilities, its refusals."""

from __future__ import annotations

import pytest

from tests.sglang_cpu.running_server import DRAFT_TOKENS, SLOTS, RunningServer
from trials.measure_errors import MeasureError
from trials.outcome import FailureKind
from trials.prompts import Prompt, load_prompts
from trials.prompts.reader import Message
from trials.sanity import check_output, collect_reference
from trials.settings import BenchPlan
from trials.throughput import measure_level

pytestmark = [pytest.mark.sglang, pytest.mark.timeout(600)]

PROMPTS = [p for p in load_prompts() if len(p.messages) == 1 and len(p.messages[0].content) < 500]


@pytest.fixture(scope="module")
def url(running_server: RunningServer) -> str:
    return running_server.url


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
