"""What the log says about a level, and where accept length comes from."""

from __future__ import annotations

import numpy as np
import pytest

from trials.boot_log.events import DecodeBatch, Notice, Retraction
from trials.load import StreamRecord
from trials.throughput.acceptance import acceptance
from trials.throughput.decode_log import LogFacts, log_facts


def batch(running: int, accept_len: float = 2.0, *, graph: bool = True, rank: str = "") -> DecodeBatch:
    return DecodeBatch(
        running,
        token_usage=running / 100,
        accept_len=accept_len,
        accept_rate=0.5,
        cuda_graph=graph,
        rank=rank,
    )


def told(tokens: int, steps: int | None, drafts: tuple[int, int] | None = None) -> StreamRecord:
    times, counts = np.array([1.0, 2.0]), np.array([1, tokens])
    return StreamRecord(0.0, times, counts, tokens, True, 9, steps, drafts)


def test_the_ramps_of_a_wave_are_left_out() -> None:
    events = [
        batch(1, 9.0, graph=False),
        batch(8, 2.0),
        batch(8, 3.0, graph=False),
        batch(2, 9.0, graph=False),
    ]
    facts = log_facts(events)
    assert facts.accept_length == pytest.approx(2.5)
    assert facts.no_graph_share == pytest.approx(0.5)
    assert facts.kv_use == pytest.approx(0.08)


def test_each_replica_has_a_full_batch_of_its_own() -> None:
    facts = log_facts([batch(4, 2.0, rank="DP0"), batch(2, 4.0, rank="DP1")])
    assert facts.accept_length == pytest.approx(3.0)


def test_retractions_are_summed_and_other_events_ignored() -> None:
    assert log_facts([Notice("x"), batch(4), Retraction(2), Retraction(3)]).retractions == 5
    assert log_facts([batch(4)]).retractions == 0


def test_a_silent_log_knows_nothing() -> None:
    assert log_facts([Notice("x")]) == LogFacts()


def test_requests_speak_before_the_log_and_long_answers_weigh_more() -> None:
    streams = [told(100, 25, (75, 75)), told(20, 20, (0, 60))]
    length, rate = acceptance(streams, LogFacts(accept_length=9.9, accept_rate=0.9))
    assert length == pytest.approx(120 / 45)
    assert rate == pytest.approx(75 / 135)


@pytest.mark.parametrize("drafts", [(0, 189), None], ids=["drafts told", "drafts not told"])
def test_a_draft_that_is_never_right_has_accept_length_one_however_short_the_answers(
    drafts: tuple[int, int] | None,
) -> None:
    assert acceptance([told(64, 63, drafts)] * 2, LogFacts())[0] == 1.0


def test_the_log_speaks_where_requests_do_not() -> None:
    assert acceptance([told(100, None)], LogFacts(accept_length=2.2, accept_rate=0.4)) == (2.2, 0.4)
    assert acceptance([], LogFacts()) == (None, None)
