"""Regression with bounds: exact figures, one-sided evidence, coefficients held at zero."""

from __future__ import annotations

import numpy as np
import pytest

from autotune.search.censored import CensoredRegression, Evidence, Prior, chance_below


def _fit(
    bound: list[float], side: list[float], features: list[list[float]], held: bool = False
) -> CensoredRegression:
    width = len(features[0])
    prior = Prior(np.zeros(width), np.full(width, 1.0), np.full(width, held))
    evidence = Evidence(np.array(features), np.array(bound), np.array(side), np.full(len(bound), 0.01))
    return CensoredRegression(prior, evidence, 0.01)


def test_exact_figures_are_met() -> None:
    model = _fit([0.3, 0.5], [0, 0], [[1.0, 0.0], [1.0, 1.0]])
    mean, deviation = model.predict(np.array([[1.0, 0.0], [1.0, 1.0]]))
    assert mean == pytest.approx([0.3, 0.5], abs=0.01)
    assert np.all(deviation < 0.03)


def test_a_crash_and_a_success_enclose_the_truth() -> None:
    model = _fit([0.4, 0.6], [1, -1], [[1.0], [1.0]])
    mean, _ = model.predict(np.array([[1.0]]))
    assert 0.4 < mean[0] < 0.6
    far = chance_below(np.array([0.2, 0.8]), *model.predict(np.ones((2, 1))))
    assert far[0] < 0.02
    assert far[1] > 0.98


def test_more_cannot_take_less() -> None:
    """Two boots that by chance suggest a negative slope leave it at zero."""
    model = _fit([0.5, 0.45], [0, 0], [[1.0, 0.0], [1.0, 1.0]], held=True)
    mean, _ = model.predict(np.array([[0.0, 1.0]]))
    assert mean[0] == pytest.approx(0.0, abs=1e-9)


def test_without_evidence_the_prior_stands() -> None:
    prior = Prior(np.array([0.2]), np.array([0.1]), np.array([False]))
    nothing = Evidence(np.empty((0, 1)), np.empty(0), np.empty(0), np.empty(0))
    mean, deviation = CensoredRegression(prior, nothing, 0.0).predict(np.ones((1, 1)))
    assert mean[0] == pytest.approx(0.2)
    assert deviation[0] == pytest.approx(0.1)
