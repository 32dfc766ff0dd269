"""When another boot is no longer worth its time: the sampler's own expectation, held against the best so far.

Expected improvement of a normal belief with mean m and deviation s over the best b (Mockus 1978; Jones et al.
1998): s (z F(z) + f(z)) with z = (m - b) / s, times the probability that the settings boot at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

from autotune.trial_view import TrialView

LOOKS = 8
"""Proposals that must agree: a single one may be an exploration on purpose."""
LEAST_GAIN = 0.001
"""Expected gain, as a share of the best, that a boot must promise. Below it ten more boots, the better part
of two hours on a large model, promise under 1 %: no more than two boots of the same settings differ by."""

_STANDARD = NormalDist()
_INTERVAL_DEVIATIONS = 2 * _STANDARD.inv_cdf(0.975)


def enough(history: Sequence[TrialView]) -> str | None:
    """Why nothing more is worth trying, None while something is."""
    gains: list[float] = []
    best: float | None = None
    for trial in history:
        if trial.role == "search" and trial.expected is not None and best is not None:
            gains.append(_expected_gain(trial.expected, trial.p_boots, best))
        if trial.value is not None:
            best = trial.value if best is None else max(best, trial.value)
    last = gains[-LOOKS:]
    if len(last) < LOOKS or (mean := sum(last) / LOOKS) >= LEAST_GAIN:
        return None
    return (
        f"another boot is not worth its time: the last {LOOKS} promised {mean:.2%} more throughput each, "
        "on average (to go on regardless: stop_when_done = false under [study])"
    )


def _expected_gain(expected: tuple[float, float], p_boots: float | None, best: float) -> float:
    """As a share of ``best``."""
    low, high = expected
    mean, deviation = (low + high) / 2, (high - low) / _INTERVAL_DEVIATIONS
    if deviation <= 0:
        improvement = max(0.0, mean - best)
    else:
        z = (mean - best) / deviation
        improvement = deviation * (z * _STANDARD.cdf(z) + _STANDARD.pdf(z))
    return (1.0 if p_boots is None else p_boots) * improvement / best
