"""Warm-up and confidence of a series of throughputs that are correlated in time. Rates in tok/s."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

CONFIDENCE = 0.95

FEWEST_FOR_WARM_UP = 10
"""Below this many values a drift cannot be told from noise."""

CLEAR_GAIN = 0.75
"""A warm-up is dropped only if that lowers MSER to this share: chance alone rarely lowers it so far."""


@dataclass(frozen=True)
class Estimate:
    """A mean rate and its 95 % interval, tok/s; the interval is None where two values are not to be had."""

    mean: float
    ci95: tuple[float, float] | None

    @property
    def half_width(self) -> float:
        """Relative half-width of the interval (0.01 is 1 %), infinite where there is none."""
        if self.ci95 is None or self.mean <= 0:
            return float("inf")
        return (self.ci95[1] - self.ci95[0]) / 2 / self.mean


def warm_up_length(series: NDArray[np.float64]) -> int:
    """How many leading values are warm-up, at most half of them.

    MSER (White 1997, "An effective truncation heuristic for bias reduction in simulation output"): drop the d
    values that minimise the squared standard error of what remains, sum((x - mean)^2) / (n - d)^2.
    """
    n = series.size
    if n < FEWEST_FOR_WARM_UP:
        return 0
    scores = [float(series[d:].var()) / (n - d) for d in range(n // 2 + 1)]
    best = int(np.argmin(scores))
    return best if scores[best] < CLEAR_GAIN * scores[0] else 0


def effective_size(series: NDArray[np.float64]) -> float:
    """How many independent values the series is worth, 1 to its length.

    n / (1 + 2 sum of autocorrelations), summed in pairs while the pairs are positive and falling: the initial
    monotone sequence of Geyer (1992, "Practical Markov chain Monte Carlo").
    """
    n = series.size
    centred = series - series.mean()
    variance = float(centred @ centred)
    if n < 4 or variance <= 0:
        return float(n)
    rho = np.correlate(centred, centred, "full")[n - 1 :] / variance
    total, previous = 0.0, float("inf")
    for lag in range(0, n - 1, 2):
        pair = min(float(rho[lag] + rho[lag + 1]), previous)
        if pair <= 0:
            break
        total, previous = total + pair, pair
    return float(np.clip(n / max(2 * total - 1, 1e-9), 1.0, n))


def estimate(waves: Sequence[NDArray[np.float64]], durations: Sequence[NDArray[np.float64]]) -> Estimate:
    """Mean rate over all bins, weighted by their length, and its interval.

    Two intervals are made and the wider is given: over the bins, by their effective number, and over the
    means of whole waves (batch means, Law and Kelton, "Simulation Modeling and Analysis", ch. 9), which alone
    sees that waves differ as their prompts do. Both use Student's t, which is wide for two waves, and rightly
    so. Stopping as soon as it is narrow costs a little: 90 to 96 % of such intervals cover in simulation.
    """
    bins, weights = np.concatenate(waves), np.concatenate(durations)
    mean = float(np.average(bins, weights=weights))
    means = np.array([wave.mean() for wave in waves])
    lengths = np.array([duration.sum() for duration in durations])
    halves = (_half_width(bins, weights, effective_size(bins)), _half_width(means, lengths, len(waves)))
    known = [half for half in halves if half is not None]
    return Estimate(mean, (max(mean - max(known), 0.0), mean + max(known)) if known else None)


def _half_width(
    values: NDArray[np.float64], weights: NDArray[np.float64], independent: float
) -> float | None:
    """Values of unequal length count by it, in the mean and in how many they are worth (Kish)."""
    n = values.size
    if n < 2:
        return None
    share = weights / weights.sum()
    variance = float(share @ (values - share @ values) ** 2) * n / (n - 1)
    worth = independent / (n * float(share @ share))
    freedom = max(independent - 1, 1.0)
    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2) * np.sqrt(variance / max(worth, 1.0)))
