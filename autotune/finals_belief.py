"""What the finals say about their arms: a posterior that allows for the best having been picked.

The highest of several noisy means overstates itself. So the contenders' true throughputs are taken as draws
from one common distribution whose spread is learned from the finals too: means that noise alone could have
spread are pulled together, means that stand clearly apart are left alone. Whoever is picked from a posterior
is picked without bias (Gelman, Hill, Yajima 2012, "Why we (usually) don't have to worry about multiple
comparisons").

The model, in logarithms of tok/s: boot ``y = a + e`` of arm ``a``, ``e`` normal with the pooled variance
between boots; contenders ``a`` normal around an unknown middle with an unknown spread. Variance: its scaled
inverse chi-square posterior. Middle: flat. Spread: half-Cauchy (Gelman 2006, "Prior distributions for
variance parameters in hierarchical models"). The baseline was not picked and keeps its own mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from autotune.arms import Arm, BootNoise, Estimate, Gain

_SPREAD_SCALE = 2.0
"""Scale of the spread's prior in standard deviations between boots: contenders are those that the noise of
the search could not tell apart. Among 0.5, 1 and 2 the one that covers best in simulation."""

_SPREADS = np.concatenate([[0.0], np.geomspace(0.1, 100, 32)])
"""Spreads that are looked at, in standard deviations between boots."""

_VARIANCES = 64
_DRAWS = 4000

Array = NDArray[np.float64]


class FinalsBelief:
    """The posterior of the finals' arms.

    Args:
        arms: All arms of the finals that have not lost, the baseline's among them if it took part.
        base: The baseline's arm, wherever it was booted.
        noise: Pooled over the finals.
    """

    def __init__(self, arms: Sequence[Arm], base: Arm | None, noise: BootNoise) -> None:
        contenders = [arm for arm in arms if base is None or arm.key != base.key]
        rng = np.random.default_rng(0)
        self._draws: dict[object, Array] = {}
        self._in_finals = {arm.key for arm in arms}
        deviations = np.sqrt(noise.variance * noise.degrees / chdtri(noise.degrees, _midpoints(_VARIANCES)))
        if contenders:
            picked, columns = _contenders(contenders, deviations, noise, rng)
            self._draws.update(zip((arm.key for arm in contenders), columns.T, strict=True))
        else:
            picked = rng.choice(deviations, _DRAWS)
        if base is not None:
            error = np.maximum(picked, base.within_deviation) / math.sqrt(len(base.logs))
            self._draws[base.key] = base.mean_log + error * _normals(rng, 1)[:, 0]

    def middle(self, arm: Arm) -> float:
        """Believed logarithm of tok/s."""
        return float(self._draws[arm.key].mean())

    def estimate(self, arm: Arm) -> Estimate:
        """Believed throughput with its 95 % interval."""
        middle, interval = _summary(self._draws[arm.key])
        return Estimate(middle, interval, len(arm.logs))

    def gain(self, arm: Arm, base: Arm) -> Gain:
        """Believed speed-up with its 95 % interval."""
        return Gain(*_summary(self._draws[arm.key] - self._draws[base.key]))

    def probability_best(self, arm: Arm) -> float:
        """That no other arm of the finals is truly faster."""
        rivals = [draws for key, draws in self._draws.items() if key in self._in_finals and key != arm.key]
        if not rivals:
            return 1.0
        return float(np.mean(self._draws[arm.key] >= np.max(rivals, axis=0)))


def _contenders(
    arms: Sequence[Arm], deviations: Array, noise: BootNoise, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draws of the deviation between boots, and with them of every contender's true logarithm."""
    means = np.array([arm.mean_log for arm in arms])
    boots = np.array([len(arm.logs) for arm in arms])
    within = np.array([arm.within_deviation for arm in arms])
    spreads = _SPREADS * max(math.sqrt(noise.variance), within.max())
    errors = np.maximum(deviations[:, None], within) ** 2 / boots
    precision = 1 / (errors[:, None, :] + spreads[None, :, None] ** 2)
    total = precision.sum(axis=2)
    centres = (precision * means).sum(axis=2) / total
    misfit = (precision * (means - centres[..., None]) ** 2).sum(axis=2)
    likelihood = 0.5 * (np.log(precision).sum(axis=2) - np.log(total) - misfit)
    weights = _spread_prior() * np.exp(likelihood - likelihood.max())
    row, column = _drawn(weights, rng)
    centre = centres[row, column] + _normals(rng, 1)[:, 0] / np.sqrt(total[row, column])
    error, spread = errors[row], spreads[column, None]
    kept = spread**2 / (spread**2 + error)
    truths = centre[:, None] + kept * (means - centre[:, None])
    return deviations[row], truths + np.sqrt(kept * error) * _normals(rng, len(arms))


def _spread_prior() -> Array:
    """Half-Cauchy mass of the stretch around each of the spreads."""
    edges = np.concatenate([[0.0], (_SPREADS[1:] + _SPREADS[:-1]) / 2, [np.inf]])
    return np.diff(np.arctan(edges / _SPREAD_SCALE))


def _drawn(weights: Array, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Cells of a table, drawn by weight, in random order."""
    cumulated = np.cumsum(weights)
    cells = np.searchsorted(cumulated, _midpoints(_DRAWS) * cumulated[-1])
    row, column = np.divmod(rng.permutation(cells), weights.shape[1])
    return row, column


def _normals(rng: np.random.Generator, columns: int) -> Array:
    """Standard normal draws in mirrored pairs, so that their mean is exactly 0."""
    half = rng.standard_normal((_DRAWS // 2, columns))
    return np.concatenate([half, -half])


def _midpoints(count: int) -> Array:
    return (np.arange(count) + 0.5) / count


def _summary(logs: Array) -> tuple[float, tuple[float, float]]:
    low, high = np.exp(np.quantile(logs, [0.025, 0.975]))
    return math.exp(float(logs.mean())), (float(low), float(high))
