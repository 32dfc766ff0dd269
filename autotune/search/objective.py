"""The objective: a small Gaussian process over mixed settings.

Throughput is roughly a product of what each setting contributes, so its logarithm is a sum: the kernel is one
term per setting and one per pair of them (Duvenaud et al. 2011, additive Gaussian processes of first and
second order) plus one over all settings together for the rest. Numbers use a squared exponential, categories
equality. Hyperparameters are the maximum of marginal likelihood times prior (Rasmussen & Williams 2006,
sections 2.2 and 5.4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize

from autotune.search.codec import Mask, Matrix, Rows

MAX_POINTS = 250
"""Beyond this many boots the best and the latest stand for all: a proposal must stay below 2 s."""

_ADDITIVE_LENGTH = 0.35
_START_TERM, _START_RATE, _START_JOINT, _START_PAIRS = 0.07, 0.1, 0.2, 2.0
_SPREAD_TERM, _SPREAD_RATE, _SPREAD_JOINT, _SPREAD_PAIRS = 1.2, 1.0, 1.0, 1.0
_JITTER = 1e-8
_IMAGINED = 3


@dataclass(frozen=True)
class ScalePrior:
    """What is known before the fit, of the noise of one boot and of the spread of scores.

    Attributes:
        deviation: Standard deviation, in units of the score (0.02 is 2 % for logs).
        certainty: Boots beyond the first among replicates; 0: a guess.
        spread: How far scores usually lie apart, before many have been seen.
    """

    deviation: float = 0.02
    certainty: int = 0
    spread: float = 0.3


@dataclass(frozen=True)
class _Kernel:
    """Covariance, and the parts that its gradient needs."""

    total: Matrix
    alone: Matrix
    pairs: Matrix
    together: Matrix


class GaussianProcess:
    """Posterior of a function of settings, given noisy values.

    Args:
        units: Settings, one row each, as ``Codec.unit`` gives them.
        scores: Their values.
        noise: Per row, how much noisier than an ordinary boot (1: as one).
        categorical: Which columns are categories.
        prior: Of noise and spread.
    """

    def __init__(
        self,
        units: Matrix,
        scores: Matrix,
        noise: Matrix,
        categorical: Mask,
        prior: ScalePrior | None = None,
    ) -> None:
        self._units, self._noise, self._categorical = units, noise, categorical
        self._centre = float(np.mean(scores))
        self._scale = _usual_spread(scores, (prior or ScalePrior()).spread)
        self._targets = (scores - self._centre) / self._scale
        self._prior = prior or ScalePrior()
        same, apart = self._compare(units, units)
        self._theta = self._fit(same, apart)
        kernel = self._kernel(self._theta, same, apart).total
        self._lower = cho_factor(kernel + self._noise_diagonal(self._theta), lower=True)
        self._alpha = cho_solve(self._lower, self._targets)

    @property
    def noise(self) -> float:
        """Standard deviation of one boot, in units of the score."""
        return float(np.exp(0.5 * self._theta[-1])) * self._scale

    def predict(self, units: Matrix) -> tuple[Matrix, Matrix]:
        """Mean and standard deviation of the noise-free score."""
        same, apart = self._compare(units, self._units)
        cross = self._kernel(self._theta, same, apart).total
        half = solve_triangular(self._lower[0], cross.T, lower=True)
        ones = np.ones((self._columns, 1, 1))
        spread = float(self._kernel(self._theta, ones, 0.0 * ones).total[0, 0])
        variance = np.maximum(spread - np.sum(half**2, axis=0), 1e-10)
        return self._centre + self._scale * (cross @ self._alpha), self._scale * np.sqrt(variance)

    def differences(self, one: Matrix, others: Matrix) -> tuple[Matrix, Matrix]:
        """Mean and deviation of one's score minus each other's; what they share is not unsure twice."""
        points = np.vstack([one, others])
        cross = self._kernel(self._theta, *self._compare(points, self._units)).total
        prior = self._kernel(self._theta, *self._compare(points, points)).total
        half = solve_triangular(self._lower[0], cross.T, lower=True)
        covariance, mean = prior - half.T @ half, cross @ self._alpha
        variance = covariance[0, 0] + np.diag(covariance)[1:] - 2.0 * covariance[0, 1:]
        return self._scale * (mean[0] - mean[1:]), self._scale * np.sqrt(np.maximum(variance, 1e-10))

    @property
    def _columns(self) -> int:
        return int(self._units.shape[1])

    def _compare(self, left: Matrix, right: Matrix) -> tuple[Matrix, Matrix]:
        """Per column: the additive term's correlation, and the distance used by the joint one."""
        same = np.empty((self._columns, len(left), len(right)))
        apart = np.empty_like(same)
        for at in range(self._columns):
            here, there = left[:, at, None], right[None, :, at]
            absent = np.isnan(here), np.isnan(there)
            if self._categorical[at]:
                distance = (here != there).astype(float)
                distance[absent[0] & absent[1]] = 0.0
                same[at], apart[at] = 1.0 - distance, distance
                continue
            gap = np.where(absent[0], 0.5, here) - np.where(absent[1], 0.5, there)
            similar = np.exp(-0.5 * (gap / _ADDITIVE_LENGTH) ** 2)
            same[at] = np.where(absent[0] != absent[1], 0.0, similar)
            apart[at] = 4.0 * gap**2
        return same, apart

    def _kernel(self, theta: Matrix, same: Matrix, apart: Matrix) -> _Kernel:
        """Covariance and its parts. The constant term stands for an unknown mean."""
        columns = self._columns
        terms, rates = np.exp(theta[:columns]), np.exp(theta[columns : 2 * columns])
        joint, paired = np.exp(theta[2 * columns : 2 * columns + 2])
        alone = np.tensordot(terms, same, axes=1)
        pairs = 0.5 * paired * (alone**2 - np.tensordot(terms**2, same**2, axes=1))
        together = joint * np.exp(-np.tensordot(rates, apart, axes=1))
        return _Kernel(1.0 + alone + pairs + together, alone, pairs, together)

    def _noise_diagonal(self, theta: Matrix) -> Matrix:
        return np.diag(np.exp(theta[-1]) * self._noise + _JITTER)

    def _start(self) -> tuple[Matrix, Matrix]:
        """Prior means and standard deviations of the log hyperparameters."""
        columns = self._columns
        noise = 2.0 * np.log(self._prior.deviation / self._scale)
        wide = [np.log(_START_JOINT), np.log(_START_PAIRS)]
        means = [*[np.log(_START_TERM)] * columns, *[np.log(_START_RATE)] * columns, *wide, noise]
        certain = 1.0 / np.sqrt(1.0 + self._prior.certainty)
        spreads = [
            *[_SPREAD_TERM] * columns,
            *[_SPREAD_RATE] * columns,
            _SPREAD_JOINT,
            _SPREAD_PAIRS,
            certain,
        ]
        return np.array(means), np.array(spreads)

    def _fit(self, same: Matrix, apart: Matrix) -> Matrix:
        means, spreads = self._start()
        found = minimize(
            self._loss,
            means,
            args=(same, apart, means, spreads),
            jac=True,
            method="L-BFGS-B",
            bounds=[
                (mean - 4 * spread, mean + 4 * spread) for mean, spread in zip(means, spreads, strict=True)
            ],
            options={"maxiter": 40},
        )
        return np.asarray(found.x)

    def _loss(
        self, theta: Matrix, same: Matrix, apart: Matrix, means: Matrix, spreads: Matrix
    ) -> tuple[float, Matrix]:
        """Minus the log posterior of the hyperparameters, and its gradient."""
        kernel = self._kernel(theta, same, apart)
        try:
            factor = cho_factor(kernel.total + self._noise_diagonal(theta), lower=True)
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(theta)
        alpha = cho_solve(factor, self._targets)
        pull = 0.5 * (cho_solve(factor, np.eye(len(alpha))) - np.outer(alpha, alpha))
        away = (theta - means) / spreads
        loss = 0.5 * self._targets @ alpha + np.sum(np.log(np.diag(factor[0]))) + 0.5 * away @ away
        return float(loss), self._gradient(theta, kernel, same, apart, pull) + away / spreads

    def _gradient(self, theta: Matrix, kernel: _Kernel, same: Matrix, apart: Matrix, pull: Matrix) -> Matrix:
        """Of the marginal likelihood, by the chain rule over the kernel's parts."""
        columns = self._columns
        terms, paired = np.exp(theta[:columns]), np.exp(theta[2 * columns + 1])
        flat = same.reshape(columns, -1)
        alone = flat @ (pull * (1.0 + paired * kernel.alone)).ravel()
        squares = (flat**2) @ pull.ravel()
        gradient = np.empty_like(theta)
        gradient[:columns] = terms * (alone - paired * terms * squares)
        rates = np.exp(theta[columns : 2 * columns])
        weighted = (pull * kernel.together).ravel()
        gradient[columns : 2 * columns] = -rates * (apart.reshape(columns, -1) @ weighted)
        gradient[2 * columns] = np.sum(weighted)
        gradient[2 * columns + 1] = np.sum(pull * kernel.pairs)
        gradient[-1] = np.exp(theta[-1]) * np.sum(np.diag(pull) * self._noise)
        return gradient


def _usual_spread(scores: Matrix, usual: float) -> float:
    """Standard deviation of the scores, as if some boots of the usual spread had been seen too."""
    count = len(scores)
    return float(np.sqrt((count * np.var(scores) + _IMAGINED * usual**2) / (count + _IMAGINED)))


def few_enough(scores: Matrix) -> Rows:
    """Positions to keep when there are more boots than ``MAX_POINTS``: best half and latest half."""
    count = len(scores)
    if count <= MAX_POINTS:
        return np.arange(count)
    half = MAX_POINTS // 2
    best = np.argsort(-scores, kind="stable")[:half]
    return np.unique(np.concatenate([best, np.arange(count - half, count)]))
