"""The waves of one level as one series: warm-up taken off, mean and interval over the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trials.throughput.intervals import Estimate, estimate, warm_up_length
from trials.throughput.latency import MeasuredWave


@dataclass(frozen=True)
class Steady:
    """What is left of a level's waves after the warm-up.

    Attributes:
        rate: Throughput in tok/s with its interval.
        seconds: Length of what is left, s.
        running: Streams that decoded at once, averaged over time.
        waves: The waves that are not warm-up altogether.
        dropped_s: Length of the warm-up, s.
        drifting: Whether half of all was dropped: then the end of the warm-up was not seen yet.
    """

    rate: Estimate
    seconds: float
    running: int
    waves: tuple[MeasuredWave, ...]
    dropped_s: float
    drifting: bool


def steady_part(waves: Sequence[MeasuredWave]) -> Steady:
    """Drop the warm-up and estimate from the rest; ``waves`` must not be empty."""
    rates = np.concatenate([wave.window.rates for wave in waves])
    drop = warm_up_length(rates)
    kept, kept_rates, kept_durations = [], [], []
    skip = drop
    for wave in waves:
        here = min(skip, wave.window.rates.size)
        skip -= here
        if here < wave.window.rates.size:
            kept.append(wave)
            kept_rates.append(wave.window.rates[here:])
            kept_durations.append(wave.window.durations[here:])
    seconds = float(np.concatenate(kept_durations).sum())
    running = np.average([w.window.running for w in kept], weights=[d.sum() for d in kept_durations])
    return Steady(
        rate=estimate(kept_rates, kept_durations),
        seconds=seconds,
        running=round(float(running)),
        waves=tuple(kept),
        dropped_s=sum(wave.window.seconds for wave in waves) - seconds if drop else 0.0,
        drifting=drop >= rates.size // 2 > 0,
    )
