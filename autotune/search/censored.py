"""Linear regression on what is known exactly and what is only known to lie on one side of a bound.

A tobit model (Tobin 1958) with Gaussian priors and coefficients that may be held at or above zero; the
posterior is approximated at its mode (Laplace; Rasmussen & Williams 2006, section 3.4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr

from autotune.search.codec import Mask, Matrix

_ROOT_TAU = np.sqrt(2.0 * np.pi)


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
        bounds = [(0.0, None) if held else (None, None) for held in prior.not_negative]
        start = np.where(prior.not_negative, np.maximum(prior.mean, 1e-4), prior.mean)
        found = minimize(self._loss, start, args=(evidence,), jac=True, method="L-BFGS-B", bounds=bounds)
        self._mode = np.asarray(found.x)
        self._covariance = np.linalg.inv(self._curvature(self._mode, evidence))

    def predict(self, features: Matrix) -> tuple[Matrix, Matrix]:
        """Mean and standard deviation of the truth, scatter included."""
        variance = np.einsum("ij,jk,ik->i", features, self._covariance, features)
        return features @ self._mode, np.sqrt(np.maximum(variance, 0.0) + self._scatter**2)

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
