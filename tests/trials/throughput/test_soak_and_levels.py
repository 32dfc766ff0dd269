"""Surviving the longest prompt under the highest level, and measuring several levels of a running server."""

from __future__ import annotations

import re

import pytest

from trials.measure_errors import MeasureError
from trials.prompts import Prompt, load_prompts
from trials.prompts.reader import Message
from trials.settings import BenchPlan
from trials.testing.pace import Fault, Pace
from trials.testing.paced_server import PacedServer
from trials.throughput import measure_url, survive

LONG = Prompt((Message("user", "a very long story " * 400),))
PROMPTS = (*load_prompts()[:10], LONG)
BENCH = BenchPlan(levels=(1, 6, 3), output_tokens=20, max_seconds_per_level=1)


def test_the_soak_sends_the_longest_prompt_to_every_stream_of_the_highest_level() -> None:
    with PacedServer(Pace(step_s=0.005)) as server:
        assert survive(server.url, BENCH, PROMPTS, seconds=0.1) == ()
        asked = [request["messages"][0]["content"] for request in server.requests[1:]]
    assert len(asked) == 6
    assert all(content.endswith(LONG.messages[0].content) for content in asked)
    assert len(set(asked)) == 6


def test_the_soak_says_that_answers_were_cut_short() -> None:
    with PacedServer(Pace(step_s=0.005, fault=Fault.SHORT, fault_after=8)) as server:
        (sentence,) = survive(server.url, BENCH, PROMPTS, seconds=0.1)
    assert re.fullmatch(r"(\d+) of \1 answers to the longest prompt at 6 streams were cut short", sentence)


def test_a_server_that_dies_under_the_soak_does_not_survive() -> None:
    with (
        PacedServer(Pace(step_s=0.005, fault=Fault.RESET, fault_after=10)) as server,
        pytest.raises(MeasureError, match="of one of 6 streams"),
    ):
        survive(server.url, BENCH, PROMPTS, seconds=0.1)


def test_several_levels_are_measured_in_the_given_order() -> None:
    with PacedServer(Pace(step_s=0.005)) as server:
        results = measure_url(server.url, (3, 1), BENCH, PROMPTS)
    assert [result.level for result in results] == [3, 1]
    assert results[0].decode_tok_s == pytest.approx(600, rel=0.3)
    assert results[1].decode_tok_s == pytest.approx(200, rel=0.3)


def test_the_level_that_failed_is_named() -> None:
    with (
        PacedServer(Pace(fault=Fault.RESET, fault_after=10)) as server,
        pytest.raises(MeasureError, match=r"^at 3 streams: "),
    ):
        measure_url(server.url, (3,), BENCH, PROMPTS)
