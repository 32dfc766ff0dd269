"""The steady window of a wave, from token times that are made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from trials.load import StreamRecord, Wave
from trials.throughput.window import is_short, pace_together, steady_window


def stream(
    first: float, step: float, steps: int, *, tokens: int = 1, asked: int | None = None, complete: bool = True
) -> StreamRecord:
    times = first + step * np.arange(steps)
    counts = tokens * np.arange(1, steps + 1)
    return StreamRecord(0.0, times, counts, asked or int(counts[-1]), complete)


def wave(*streams: StreamRecord, cut: bool = False) -> Wave:
    return Wave(streams, max(float(s.times[-1]) for s in streams if s.times.size), cut)


def test_the_window_runs_from_the_last_first_token_to_the_first_finish() -> None:
    window = steady_window(wave(stream(1.0, 0.1, 100), stream(2.0, 0.1, 100)))
    assert window is not None
    assert window.start == pytest.approx(2.1)
    assert window.end == pytest.approx(10.9)
    assert window.running == 2
    assert window.rates == pytest.approx(np.full(10, 20.0))


def test_several_tokens_a_step_are_counted() -> None:
    window = steady_window(wave(stream(1.0, 0.1, 100, tokens=4)))
    assert window is not None
    assert window.rates.mean() == pytest.approx(40.0)


def test_streams_out_of_step_lose_nothing_at_the_edges() -> None:
    window = steady_window(wave(*(stream(1.0 + 0.013 * k, 0.1, 50, tokens=3) for k in range(7))))
    assert window is not None
    assert window.rates.mean() == pytest.approx(7 * 30.0, rel=1e-6)


def test_queued_streams_are_not_running() -> None:
    window = steady_window(wave(stream(1.0, 0.1, 50), stream(1.0, 0.1, 50), stream(6.0, 0.1, 50)))
    assert window is not None
    assert window.running == 2
    assert window.rates.mean() == pytest.approx(20.0)


def test_an_answer_cut_short_does_not_end_the_window() -> None:
    short = stream(1.0, 0.1, 8, asked=100)
    assert is_short(short)
    window = steady_window(wave(short, stream(1.0, 0.1, 100), stream(1.0, 0.1, 100)))
    assert window is not None
    assert window.end == pytest.approx(10.9)
    assert window.running == 2


def test_if_every_answer_is_short_they_are_the_measurement() -> None:
    window = steady_window(wave(*(stream(1.0, 0.1, 30, asked=100) for _ in range(3))))
    assert window is not None
    assert window.rates.mean() == pytest.approx(30.0)


def test_a_stall_counts_as_standing_still() -> None:
    times = np.concatenate([1 + 0.1 * np.arange(50), 15.9 + 0.1 * np.arange(50)])
    stalled = StreamRecord(0.0, times, np.arange(1, 101), 100, True)
    window = steady_window(wave(stalled))
    assert window is not None
    assert window.rates.mean() == pytest.approx(99 / 19.8, rel=0.01)


def test_a_wave_that_was_cut_ends_at_its_last_step() -> None:
    streams = [stream(1.0 + 0.001 * k, 0.1, 40, asked=500, complete=False) for k in range(5)]
    window = steady_window(wave(*streams, cut=True))
    assert window is not None
    assert window.rates.mean() == pytest.approx(50.0, rel=0.005)


@pytest.mark.parametrize("streams", [[stream(1.0, 0.1, 3)], [stream(1.0, 0.1, 1)]])
def test_too_few_steps_are_no_window(streams: list[StreamRecord]) -> None:
    assert steady_window(wave(*streams)) is None


def test_a_wave_without_any_token_is_no_window() -> None:
    silent = StreamRecord(0.0, np.array([]), np.array([], dtype=np.int64), 10, False)
    assert steady_window(Wave((silent,), 5.0, True)) is None


def test_a_pace_counts_from_where_all_have_begun_and_up_to_the_cut() -> None:
    cut = Wave((stream(1.0, 1.0, 9, complete=False), stream(5.0, 1.0, 5, complete=False)), 13.0, cut=True)
    assert pace_together(cut) == pytest.approx(4 / 8)


def test_a_pace_of_whole_answers_ends_with_them() -> None:
    assert pace_together(wave(stream(1.0, 1.0, 4), stream(1.0, 1.0, 8))) == pytest.approx(1.0)


def test_there_is_no_pace_where_a_stream_still_waits_or_all_have_just_begun() -> None:
    waits = StreamRecord(0.0, np.array([]), np.array([], dtype=np.int64), 9, complete=False)
    assert pace_together(wave(stream(1.0, 1.0, 9), waits)) is None
    assert pace_together(wave(stream(1.0, 0.5, 4), stream(1.0, 0.5, 3))) is None
