"""How much a boot is worth: expected improvement per cost, times the chance that it boots and keeps limits.

Expected improvement in logarithms (Jones et al. 1998; stable form after Ament et al. 2023), weighted by
feasibility (Gardner et al. 2014). What will hardly boot is marked down further, but never barred: its
companion may be what crashes, and a study may not shut out speculation for good.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx

from autotune.search.codec import Matrix

LEAST_CHANCE = 0.4
"""Of booting, below which settings are marked down: believed a little lower, they nearly always crash."""

_MARKED_DOWN = -2.0
_LOG_ROOT_TAU = 0.5 * np.log(2.0 * np.pi)
_FAR = -20.0


def log_expected_improvement(mean: Matrix, deviation: Matrix, best: float) -> Matrix:
    """Logarithm of the expected improvement over ``best``."""
    z = (mean - best) / deviation
    near = np.maximum(z, _FAR)
    mills = np.sqrt(np.pi / 2.0) * erfcx(-np.minimum(near, 8.0) / np.sqrt(2.0))
    below = -0.5 * near**2 - _LOG_ROOT_TAU + np.log(np.maximum(1.0 + near * mills, 1e-300))
    far = -0.5 * z**2 - _LOG_ROOT_TAU - 2.0 * np.log(np.maximum(-z, 1.0))
    high = np.log(np.maximum(z, 1e-9))
    chosen = np.where(z < _FAR, far, np.where(z > 8.0, high, below))
    return np.asarray(chosen + np.log(deviation))


def worth(improvement: Matrix, boots: Matrix, keeps_limits: Matrix, cost: Matrix) -> Matrix:
    """Score of candidates, in logarithms."""
    chance = np.log(boots + 1e-12) + np.where(boots < LEAST_CHANCE, _MARKED_DOWN, 0.0)
    return np.asarray(
        improvement + chance + np.log(np.maximum(keeps_limits, 1e-3)) - np.log(np.maximum(cost, 0.05))
    )
