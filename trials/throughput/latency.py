"""Latencies of streams, ms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from trials.load import StreamRecord
from trials.outcome import Percentiles
from trials.throughput.window import Window


@dataclass(frozen=True)
class MeasuredWave:
    """The streams of a wave with their steady window.

    Attributes:
        ended: When the wave ended, s on the monotonic clock.
    """

    streams: tuple[StreamRecord, ...]
    window: Window
    ended: float


def percentiles(seconds: Iterable[float]) -> Percentiles:
    values = np.fromiter(seconds, dtype=np.float64)
    if not values.size:
        return Percentiles()
    p50, p95, p99 = (float(value) * 1000 for value in np.percentile(values, (50, 95, 99)))
    return Percentiles(p50=p50, p95=p95, p99=p99)


def first_token_ms(waves: Sequence[MeasuredWave]) -> Percentiles:
    """Time to first token. A stream that was cut while it still waited counts with the wait so far."""
    return percentiles(
        float(stream.times[0] if stream.times.size else wave.ended) - stream.sent
        for wave in waves
        for stream in wave.streams
    )


def inter_token_ms(waves: Sequence[MeasuredWave]) -> Percentiles:
    """Time between two arrivals in the steady window, of one token or several: what a reader sees."""
    gaps = [np.diff(_inside(stream, wave.window)) for wave in waves for stream in wave.streams]
    return percentiles(np.concatenate(gaps) if gaps else ())


def _inside(stream: StreamRecord, window: Window) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return stream.times[(stream.times >= window.start) & (stream.times <= window.end)]


def per_token_s(stream: StreamRecord) -> float | None:
    """Time per output token, s, as bench_serving defines it: (last - first arrival) / (tokens - 1)."""
    if stream.tokens < 2 or stream.times.size < 2:
        return None
    return float(stream.times[-1] - stream.times[0]) / (stream.tokens - 1)


def per_token_ms(waves: Sequence[MeasuredWave]) -> Percentiles:
    values = [per_token_s(stream) for wave in waves for stream in wave.streams]
    return percentiles(value for value in values if value is not None)


def end_to_end_ms(waves: Sequence[MeasuredWave]) -> Percentiles:
    """From sending the request to its last token, whole answers only."""
    return percentiles(
        float(stream.times[-1]) - stream.sent
        for wave in waves
        for stream in wave.streams
        if stream.complete and stream.times.size
    )
