"""Against a server whose pace is known exactly: within 1 %, with and without speculation."""

from __future__ import annotations

import pytest

from trials.prompts import load_prompts
from trials.settings import BenchPlan
from trials.testing.pace import Fault, Pace
from trials.testing.paced_server import PacedServer
from trials.throughput import measure_level

PROMPTS = load_prompts()


@pytest.mark.slow
@pytest.mark.parametrize("tokens_per_step", [(1,), (2, 3)], ids=["plain", "accept-length-2.5"])
@pytest.mark.parametrize("level,step_s", [(1, 0.01), (8, 0.02), (64, 0.05)])
def test_decode_throughput_is_within_one_percent(
    level: int, step_s: float, tokens_per_step: tuple[int, ...]
) -> None:
    pace = Pace(step_s=step_s, tokens_per_step=tokens_per_step)
    bench = BenchPlan(output_tokens=int(44 * pace.accept_length), max_seconds_per_level=6)
    with PacedServer(pace) as server:
        measurement = measure_level(server.url, level, bench, PROMPTS)
    assert measurement.decode_tok_s == pytest.approx(level * pace.stream_tok_s, rel=0.01)
    assert measurement.per_stream_tok_s == pytest.approx(pace.stream_tok_s, rel=0.01)
    assert (measurement.running, measurement.capped) == (level, False)
    assert measurement.itl_ms.p50 == pytest.approx(step_s * 1000, rel=0.1)


@pytest.mark.slow
def test_a_capped_level_is_measured_at_the_number_reached() -> None:
    pace = Pace(step_s=0.02, slots=3)
    with PacedServer(pace) as server:
        measurement = measure_level(
            server.url, 5, BenchPlan(output_tokens=60, max_seconds_per_level=6), PROMPTS
        )
    assert (measurement.running, measurement.capped) == (3, True)
    assert measurement.decode_tok_s == pytest.approx(3 * pace.stream_tok_s, rel=0.02)
    assert any("3 of 5 streams at once" in note for note in measurement.notes)
    assert measurement.ttft_ms.p95 is not None
    assert measurement.ttft_ms.p95 > 60 * 20


@pytest.mark.slow
def test_warm_up_is_found_and_dropped() -> None:
    pace = Pace(step_s=0.01, warm_up_s=0.6)
    with PacedServer(pace) as server:
        measurement = measure_level(
            server.url, 2, BenchPlan(output_tokens=120, max_seconds_per_level=8), PROMPTS
        )
    assert measurement.decode_tok_s == pytest.approx(2 * pace.stream_tok_s, rel=0.02)


@pytest.mark.slow
def test_the_same_seed_asks_the_same_and_no_two_requests_share_a_prefix() -> None:
    bench = BenchPlan(output_tokens=20, max_seconds_per_level=0.5)
    asked = []
    for _ in range(2):
        with PacedServer(Pace()) as server:
            measure_level(server.url, 4, bench, PROMPTS, seed=3)
            asked.append([request["messages"] for request in server.requests[1:5]])
            assert server.flushes == 1
    key = str
    assert sorted(asked[0], key=key) == sorted(asked[1], key=key)
    beginnings = {messages[0]["content"][:10] for messages in asked[0]}
    assert len(beginnings) == 4


@pytest.mark.slow
def test_a_server_without_chat_template_is_measured_by_generate() -> None:
    pace = Pace(step_s=0.01, fault=Fault.NO_TEMPLATE, fault_after=10**9)
    with PacedServer(pace) as server:
        measurement = measure_level(
            server.url, 2, BenchPlan(output_tokens=60, max_seconds_per_level=3), PROMPTS
        )
    assert measurement.decode_tok_s == pytest.approx(2 * pace.stream_tok_s, rel=0.02)
    assert any("without the chat template" in note for note in measurement.notes)
