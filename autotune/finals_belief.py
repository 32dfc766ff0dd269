"""What the finals say about their arms: a posterior that allows for the best having been picked.

The highest of several noisy means overstates itself. So the contenders' true throughputs are taken as draws
from one common distribution whose spread is learned from the finals too: means that noise alone could have
spread are pulled together, means that stand clearly apart are left alone. Whoever is picked from a posterior
is picked without bias (Gelman, Hill, Yajima 2012, "Why we (usually) don't have to worry about multiple
comparisons").

The model, in logarithms of tok/s: boot ``y = a + e`` of arm ``a``, ``e`` normal with the pooled variance
between boots; contenders ``a`` normal around an unknown middle with an unknown spread. Variance: its scaled
inverse chi-square posterior. Middle: flat. Spread: half-Cauchy (Gelman 2006, "Prior distributions for
variance parameters in hierarchical models"). The baseline was not picked and keeps its own mean, unless the
finals say that it is one of the front runners itself: then the winner was picked from among it too.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from autotune.arms import Arm, BootNoise, Estimate, Gain

_SPREAD_SCALE = 2.0
"""Scale of the spread's prior in standard deviations between boots: contenders are those that the noise of
the search could not tell apart. Among 0.5, 1 and 2 the one that covers best in simulation."""

_SPREADS = np.concatenate([[0.0], np.geomspace(0.1, 100, 32)])
"""Spreads that are looked at, in standard deviations between boots."""

_BASELINE_LEADS = 0.03
"""Prior probability that the baseline is one of the front runners, against a place anywhere within
``_ANYWHERE``. Simulated at 2 % noise: with 0, where there is no gain, only 90 to 94 % of those claimed are
covered; with 0.1 up to a quarter of true gains of 6 % are missed."""

_ANYWHERE = 1.0
"""Width of the range, in logarithms, over which a baseline apart from the front runners may lie."""

_CERTAIN = 500.0
"""A larger logarithm of odds would only overflow."""

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
        self._in_finals = {arm.key for arm in arms}
        contenders = [arm for arm in arms if base is None or arm.key != base.key]
        model = _Model(noise, np.random.default_rng(0))
        if base is None:
            columns = model.group(contenders).draws
        elif not contenders:
            columns = model.alone(base, model.deviations())
        else:
            columns = model.with_baseline(contenders, base, may_lead=base.key in self._in_finals)
        keys = [*(arm.key for arm in contenders), *([base.key] if base else [])]
        self._draws: dict[Hashable, Array] = dict(zip(keys, columns.T, strict=True))

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


@dataclass(frozen=True)
class _Group:
    """Arms around a common middle.

    Attributes:
        evidence: Logarithm of the probability density of their means.
        deviations: Draws of the deviation between boots.
        draws: With them of every arm's true logarithm, one column an arm.
    """

    evidence: float
    deviations: Array
    draws: Array


class _Model:
    """Draws from the posterior."""

    def __init__(self, noise: BootNoise, rng: np.random.Generator) -> None:
        self._unit = math.sqrt(noise.variance)
        chances = _midpoints(_VARIANCES)
        self._deviations = self._unit * np.sqrt(noise.degrees / chdtri(noise.degrees, chances))
        self._rng = rng

    def deviations(self) -> Array:
        """Of the noise between boots."""
        return self._rng.choice(self._deviations, _DRAWS)

    def group(self, arms: Sequence[Arm]) -> _Group:
        """Arms whose truths are drawn from one distribution."""
        means = np.array([arm.mean_log for arm in arms])
        within = np.array([arm.within_deviation for arm in arms])
        boots = np.array([len(arm.logs) for arm in arms])
        spreads = _SPREADS * max(self._unit, within.max())
        errors = np.maximum(self._deviations[:, None], within) ** 2 / boots
        precision = 1 / (errors[:, None, :] + spreads[None, :, None] ** 2)
        total = precision.sum(axis=2)
        centres = (precision * means).sum(axis=2) / total
        likelihood = _log_density(means, precision, total, centres)
        top = float(likelihood.max())
        weights = _spread_prior() * np.exp(likelihood - top)
        row, column = _drawn(weights, self._rng)
        centre = centres[row, column] + self._normals(1)[:, 0] / np.sqrt(total[row, column])
        error, spread = errors[row], spreads[column, None]
        kept = spread**2 / (spread**2 + error)
        truths = centre[:, None] + kept * (means - centre[:, None])
        draws = truths + np.sqrt(kept * error) * self._normals(len(arms))
        return _Group(top + math.log(weights.sum()), self._deviations[row], draws)

    def alone(self, arm: Arm, deviations: Array) -> Array:
        """An arm that is drawn from nothing, as one column."""
        error = np.maximum(deviations, arm.within_deviation) / math.sqrt(len(arm.logs))
        return arm.mean_log + error[:, None] * self._normals(1)

    def with_baseline(self, contenders: Sequence[Arm], base: Arm, *, may_lead: bool) -> Array:
        """The contenders' columns and the baseline's, which stands apart or is one of them."""
        apart = self.group(contenders)
        columns = np.hstack([apart.draws, self.alone(base, apart.deviations)])
        if not may_lead:
            return columns
        among = self.group([*contenders, base])
        against = apart.evidence - math.log(_ANYWHERE) - among.evidence
        odds = (1 - _BASELINE_LEADS) / _BASELINE_LEADS * math.exp(min(against, _CERTAIN))
        leads = self._rng.random(_DRAWS) < 1 / (1 + odds)
        return np.where(leads[:, None], among.draws, columns)

    def _normals(self, columns: int) -> Array:
        """Standard normal draws in mirrored pairs, so that their mean is exactly 0."""
        half = self._rng.standard_normal((_DRAWS // 2, columns))
        return np.concatenate([half, -half])


def _log_density(means: Array, precision: Array, total: Array, centres: Array) -> Array:
    """Of the means, the middle integrated out; one for each deviation and spread."""
    misfit = (precision * (means - centres[..., None]) ** 2).sum(axis=2)
    constant = (1 - means.size) * math.log(2 * math.pi)
    density: Array = 0.5 * (np.log(precision).sum(axis=2) - np.log(total) - misfit + constant)
    return density


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


def _midpoints(count: int) -> Array:
    return (np.arange(count) + 0.5) / count


def _summary(logs: Array) -> tuple[float, tuple[float, float]]:
    low, high = np.exp(np.quantile(logs, [0.025, 0.975]))
    return math.exp(float(logs.mean())), (float(low), float(high))
