"""Two servers whose paces are known: the ratio, and who is asked when."""

from __future__ import annotations

import pytest

from trials.prompts import load_prompts
from trials.settings import BenchPlan
from trials.testing.pace import Pace
from trials.testing.paced_server import PacedServer
from trials.throughput import compare_urls


@pytest.mark.slow
def test_the_ratio_of_two_known_paces() -> None:
    bench = BenchPlan(output_tokens=40, max_seconds_per_level=6)
    with PacedServer(Pace(step_s=0.02)) as slow, PacedServer(Pace(step_s=0.016)) as fast:
        (result,) = compare_urls(slow.url, fast.url, (2,), bench, load_prompts(), rounds=3)
        asked = [[request["messages"] for request in server.requests[1:3]] for server in (slow, fast)]
    assert result.ratio == pytest.approx(1.25, rel=0.02)
    assert result.ratio_ci95 is not None
    assert result.ratio_ci95[0] <= result.ratio <= result.ratio_ci95[1]
    assert len(result.first) == len(result.second) == 3
    assert sorted(map(str, asked[0])) == sorted(map(str, asked[1]))


@pytest.mark.slow
def test_a_server_against_itself_has_measurements_of_both_sides() -> None:
    bench = BenchPlan(output_tokens=24, max_seconds_per_level=1)
    with PacedServer(Pace(step_s=0.01)) as server:
        (result,) = compare_urls(server.url, server.url, (1,), bench, load_prompts(), rounds=2)
    assert len(result.first) == len(result.second) == 2
    assert not set(map(id, result.first)) & set(map(id, result.second))
    assert result.ratio == pytest.approx(1.0, rel=0.1)
    assert result.ratio_ci95 is not None
    assert result.ratio_ci95[0] < result.ratio_ci95[1]
