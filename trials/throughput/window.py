"""The steady window of a wave: every stream decodes, from the last first token to the first finish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trials.load import StreamRecord, Wave

SHORT_SHARE = 0.9
"""An answer under this share of what was asked for was cut short and does not end the window."""

LATE_SHARE = 0.1
"""A stream that begins in this last share of the way to the first finish was queued, not running."""

PACE_S = 2.0
"""A stream's pace is not judged on less time than this."""

STEPS_PER_BIN = 4
MOST_BINS = 10
"""A window is cut into up to this many bins of at least ``STEPS_PER_BIN`` arrivals a stream."""


@dataclass(frozen=True)
class Window:
    """Throughput over one steady window.

    Attributes:
        start: s on the monotonic clock.
        end: s on the monotonic clock.
        running: Streams that decoded all the way.
        rates: tok/s of all of them, in consecutive bins of equal length.
    """

    start: float
    end: float
    running: int
    rates: NDArray[np.float64]

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def tokens(self) -> float:
        return float(self.rates.mean()) * self.seconds

    @property
    def durations(self) -> NDArray[np.float64]:
        return np.full(self.rates.size, self.seconds / self.rates.size)


def is_short(stream: StreamRecord) -> bool:
    """Whether the server ended this answer early although it was told to go on."""
    return stream.complete and stream.tokens < SHORT_SHARE * stream.asked


def steady_window(wave: Wave) -> Window | None:
    """The wave's window, or None if there is none of at least ``STEPS_PER_BIN`` steps.

    A stream's count is interpolated between the arrivals on both sides of an edge, so a step that straddles
    the edge counts by its share, and a stream that stalls (retraction) counts as standing still. The window
    begins one arrival after the last first token: the step before still holds the last stream's prefill.
    """
    begun = [stream for stream in wave.streams if stream.times.size]
    whole = [stream for stream in begun if not is_short(stream)] or begun
    if not whole:
        return None
    end = _first_finish(whole)
    earliest = min(float(stream.times[0]) for stream in whole)
    latest_start = end - LATE_SHARE * (end - earliest)
    running = [s for s in whole if s.times[0] <= latest_start and s.times[-1] >= latest_start]
    if not running:
        return None
    last_first = max(float(stream.times[0]) for stream in running)
    start = max(_arrival_after(stream, last_first) for stream in running)
    steps = int(np.median([np.count_nonzero((s.times > start) & (s.times <= end)) for s in running]))
    if start >= end or steps < STEPS_PER_BIN:
        return None
    bins = min(MOST_BINS, steps // STEPS_PER_BIN)
    return Window(start, end, len(running), _rates(running, np.linspace(start, end, bins + 1)))


def pace_together(wave: Wave) -> float | None:
    """tok/s of the median stream since all had begun; None where they had not for ``PACE_S``."""
    if not all(stream.times.size for stream in wave.streams):
        return None
    since = max(float(stream.times[0]) for stream in wave.streams)
    paces = []
    for stream in wave.streams:
        seconds = (float(stream.times[-1]) if stream.complete else wave.ended) - since
        if seconds >= PACE_S:
            paces.append((stream.tokens - np.interp(since, stream.times, stream.counts)) / seconds)
    return float(np.median(paces)) if paces else None


def _first_finish(streams: Sequence[StreamRecord]) -> float:
    """Of a wave that was cut before any finish: the median of the last arrivals, the end of its last step."""
    finishes = [float(stream.times[-1]) for stream in streams if stream.complete]
    return min(finishes) if finishes else float(np.median([stream.times[-1] for stream in streams]))


def _arrival_after(stream: StreamRecord, moment: float) -> float:
    later = np.searchsorted(stream.times, moment, side="right")
    return float(stream.times[min(int(later), stream.times.size - 1)])


def _rates(streams: Sequence[StreamRecord], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.zeros(edges.size)
    for stream in streams:
        total += np.interp(edges, stream.times, stream.counts)
    return np.diff(total) / np.diff(edges)
