"""Latencies of streams made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from trials.load import StreamRecord
from trials.outcome import Percentiles
from trials.throughput.latency import (
    MeasuredWave,
    end_to_end_ms,
    first_token_ms,
    inter_token_ms,
    per_token_ms,
    percentiles,
)
from trials.throughput.window import Window


def wave(*streams: StreamRecord, ended: float = 10.0) -> MeasuredWave:
    return MeasuredWave(streams, Window(2.0, 4.0, len(streams), np.ones(2)), ended)


def stream(times: list[float], counts: list[int], *, complete: bool = True) -> StreamRecord:
    return StreamRecord(1.0, np.array(times), np.array(counts), 100, complete)


STEADY = stream([1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 9.0], [1, 4, 7, 10, 13, 16, 19])
WAITING = stream([], [], complete=False)


def test_first_token_of_a_stream_that_still_waits_is_its_wait_so_far() -> None:
    assert first_token_ms([wave(STEADY)]).p50 == pytest.approx(500)
    assert first_token_ms([wave(STEADY, WAITING)]).p99 == pytest.approx(9000, rel=0.02)


def test_gaps_are_counted_inside_the_window_only() -> None:
    assert inter_token_ms([wave(STEADY)]) == Percentiles(p50=500, p95=500, p99=500)


def test_time_per_token_is_over_all_tokens_after_the_first() -> None:
    assert per_token_ms([wave(STEADY)]).p50 == pytest.approx(7500 / 18)
    assert per_token_ms([wave(stream([2.0], [1]))]) == Percentiles()


def test_end_to_end_is_of_whole_answers() -> None:
    cut = stream([1.2, 1.3], [1, 2], complete=False)
    assert end_to_end_ms([wave(STEADY, cut)]).p50 == pytest.approx(8000)
    assert end_to_end_ms([wave(cut)]) == Percentiles()


def test_nothing_has_no_percentiles() -> None:
    assert percentiles([]) == Percentiles()
