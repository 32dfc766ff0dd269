"""Linear regression on what is known exactly and what is only known to lie on one side of a bound.

A tobit model (Tobin 1958) with Gaussian priors and coefficients that may be held at or above zero; the
posterior is approximated at its mode (Laplace; Rasmussen & Williams 2006, section 3.4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from autotune.search.codec import Mask, Matrix

_ROOT_TAU = np.sqrt(2.0 * np.pi)
_NEWTON_STEPS, _HALVINGS, _TOLERANCE = 30, 12, 1e-5


@dataclass(frozen=True)
class Prior:
    """Beliefs about the coefficients before any boot."""

    mean: Matrix
    deviation: Matrix
    not_negative: Mask


@dataclass(frozen=True)
class Evidence:
    """What boots showed.

    Attributes:
        features: One row a boot.
        bound: The number seen, or the bound.
        side: 0 where the number was seen, 1 where the truth lies above the bound, -1 below.
        deviation: Scatter of the truth about the linear model.
    """

    features: Matrix
    bound: Matrix
    side: Matrix
    deviation: Matrix


class CensoredRegression:
    """Posterior of the coefficients."""

    def __init__(self, prior: Prior, evidence: Evidence, scatter: float) -> None:
        self._prior, self._scatter = prior, scatter
        self._mode = self._climb(evidence)
        self._covariance = np.linalg.inv(self._curvature(self._mode, evidence))

    def predict(self, features: Matrix) -> tuple[Matrix, Matrix]:
        """Mean and standard deviation of the truth, scatter included."""
        variance = np.einsum("ij,jk,ik->i", features, self._covariance, features)
        return features @ self._mode, np.sqrt(np.maximum(variance, 0.0) + self._scatter**2)

    def _climb(self, evidence: Evidence) -> Matrix:
        """The mode, by Newton steps that stop at the bounds (Bertsekas 1982); the loss is convex."""
        held = self._prior.not_negative
        beta = np.where(held, np.maximum(self._prior.mean, 1e-4), self._prior.mean)
        loss, gradient = self._loss(beta, evidence)
        for _ in range(_NEWTON_STEPS):
            stuck = held & (beta <= 0.0) & (gradient > 0.0)
            free = np.flatnonzero(~stuck)
            step = np.zeros_like(beta)
            curvature = self._curvature(beta, evidence)[np.ix_(free, free)]
            step[free] = -np.linalg.solve(curvature, gradient[free])
            moved, lower, slope = self._shorten(beta, step, loss, evidence)
            if loss - lower < _TOLERANCE:
                break
            beta, loss, gradient = moved, lower, slope
        return beta

    def _shorten(
        self, beta: Matrix, step: Matrix, loss: float, evidence: Evidence
    ) -> tuple[Matrix, float, Matrix]:
        """Halve the step until it helps."""
        length = 1.0
        for _ in range(_HALVINGS):
            moved = beta + length * step
            moved = np.where(self._prior.not_negative, np.maximum(moved, 0.0), moved)
            lower, slope = self._loss(moved, evidence)
            if lower < loss:
                return moved, lower, slope
            length *= 0.5
        return beta, loss, np.zeros_like(beta)

    def _loss(self, beta: Matrix, evidence: Evidence) -> tuple[float, Matrix]:
        away = (beta - self._prior.mean) / self._prior.deviation
        gap = (evidence.bound - evidence.features @ beta) / evidence.deviation
        seen = evidence.side == 0
        margin = -evidence.side * gap
        terms = np.where(seen, 0.5 * gap**2, -log_ndtr(margin))
        slope = np.where(seen, -gap, -evidence.side * _hazard(margin)) / evidence.deviation
        gradient = evidence.features.T @ slope + away / self._prior.deviation
        return float(np.sum(terms) + 0.5 * away @ away), gradient

    def _curvature(self, beta: Matrix, evidence: Evidence) -> Matrix:
        gap = (evidence.bound - evidence.features @ beta) / evidence.deviation
        margin = -evidence.side * gap
        hazard = _hazard(margin)
        weight = np.where(evidence.side == 0, 1.0, hazard * (hazard + margin)) / evidence.deviation**2
        return (evidence.features.T * weight) @ evidence.features + np.diag(self._prior.deviation**-2.0)


def _hazard(margin: Matrix) -> Matrix:
    """Normal density over normal distribution, safe in the tail."""
    return np.asarray(np.exp(-0.5 * margin**2 - log_ndtr(margin)) / _ROOT_TAU)


def chance_below(bound: Matrix, mean: Matrix, deviation: Matrix) -> Matrix:
    """Probability that a normal variable lies below a bound."""
    return np.asarray(ndtr((bound - mean) / deviation))
