"""What single boots of the search say, before any finals: the leader's luck is taken off its number.

The best of many noisy numbers was lucky more often than not. How lucky depends on the field: a leader with
many close followers was, one that stands alone was not. So the distribution of true throughputs near the top
is learned from all arms there by EM from a flat start, stopped early (Laird, Louis 1991, "Smoothing the
non-parametric estimate of a prior distribution by roughening"), and each arm is believed to be where that
distribution and its own boots agree. The intervals keep the width that the boots alone have: what was learned
of the field is itself unsure.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from autotune.arms import Arm, BootNoise, Estimate, Gain

_ROUNDS = 10
"""Of EM: three leave a third of the overstatement (simulated), thirty gain little and follow single arms."""

_REACH = 8.0
"""Arms this many standard deviations below the top are no rivals of it."""

_BEYOND = 4.0
_STEP = 0.25
"""The grid goes this far beyond the arms, in steps of this size, in standard deviations."""

Array = NDArray[np.float64]


class SearchBelief:
    """What is believed of every arm of a search.

    Args:
        arms: All of them, the baseline's included.
        noise: Between boots.
    """

    def __init__(self, arms: Sequence[Arm], noise: BootNoise) -> None:
        self._noise = noise
        top = max(arm.mean_log for arm in arms)
        deviation = math.sqrt(max(noise.variance_of(arm) / len(arm.logs) for arm in arms))
        near = [arm for arm in arms if arm.mean_log > top - _REACH * deviation]
        low = min(arm.mean_log for arm in near) - _BEYOND * deviation
        self._grid = np.arange(low, top + _BEYOND * deviation, _STEP * deviation)
        posterior = _posterior(near, self._grid, noise)
        self._posterior: dict[Hashable, Array] = {
            arm.key: row for arm, row in zip(near, posterior, strict=True)
        }

    def middle(self, arm: Arm) -> float:
        """Believed logarithm of tok/s."""
        posterior = self._posterior.get(arm.key)
        return arm.mean_log if posterior is None else float(posterior @ self._grid)

    def estimate(self, arm: Arm) -> Estimate:
        """Believed throughput with its 95 % interval."""
        middle, half = self.middle(arm), self._noise.half_width(arm)
        interval = (math.exp(middle - half), math.exp(middle + half))
        return Estimate(math.exp(middle), interval, len(arm.logs))

    def gain(self, arm: Arm, base: Arm) -> Gain:
        """Believed speed-up with its 95 % interval; the baseline was not picked and keeps its own mean."""
        middle = self.middle(arm) - base.mean_log
        half = math.hypot(self._noise.half_width(arm), self._noise.half_width(base))
        return Gain(math.exp(middle), (math.exp(middle - half), math.exp(middle + half)))

    def probability_best(self, arm: Arm) -> float:
        """That no other arm is truly faster; what shares a step of the grid counts as half faster."""
        own = self._posterior.get(arm.key)
        if own is None:
            return 0.0
        below = np.ones(self._grid.size)
        for key, rival in self._posterior.items():
            if key != arm.key:
                below *= np.cumsum(rival) - rival / 2
        return float(own @ below)


def _posterior(arms: Sequence[Arm], grid: Array, noise: BootNoise) -> Array:
    """Where each arm may truly stand: one row an arm, probabilities over the grid."""
    means = np.array([arm.mean_log for arm in arms])[:, None]
    variances = np.array([noise.variance_of(arm) / len(arm.logs) for arm in arms])[:, None]
    likelihood = np.exp(-((means - grid) ** 2) / (2 * variances))
    field = np.full(grid.size, 1 / grid.size)
    for _ in range(_ROUNDS):
        field = _normalised(likelihood * field).mean(axis=0)
    return _normalised(likelihood * field)


def _normalised(rows: Array) -> Array:
    normalised: Array = rows / rows.sum(axis=1, keepdims=True)
    return normalised
