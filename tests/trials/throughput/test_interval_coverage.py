"""The 95 % interval covers the truth about as often as it says, also where values are correlated in time."""

from __future__ import annotations

import numpy as np
import pytest

from trials.throughput.intervals import effective_size, estimate, warm_up_length

NIGHTS = 200


def autocorrelated(random: np.random.Generator, size: int, rho: float) -> np.ndarray:
    noise = random.normal(0.0, np.sqrt(1 - rho**2), size)
    series = np.empty(size)
    series[0] = random.normal()
    for index in range(1, size):
        series[index] = rho * series[index - 1] + noise[index]
    return series


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("waves", [4, 12])
def test_coverage_of_correlated_bins(rho: float, waves: int) -> None:
    random = np.random.default_rng(11)
    covered = 0
    for _ in range(NIGHTS):
        bins = [100 + 2 * part for part in np.split(autocorrelated(random, waves * 10, rho), waves)]
        result = estimate(bins, [np.ones(10)] * waves)
        assert result.ci95 is not None
        covered += result.ci95[0] <= 100 <= result.ci95[1]
    assert covered / NIGHTS >= 0.87


@pytest.mark.slow
def test_coverage_where_whole_waves_differ() -> None:
    random = np.random.default_rng(12)
    covered = 0
    for _ in range(NIGHTS):
        bins = [100 + random.normal(0, 2) + random.normal(0, 0.5, 10) for _ in range(6)]
        result = estimate(bins, [np.ones(10)] * 6)
        assert result.ci95 is not None
        covered += result.ci95[0] <= 100 <= result.ci95[1]
    assert covered / NIGHTS >= 0.90


def test_effective_size_of_independent_values_is_their_number() -> None:
    sizes = [effective_size(np.random.default_rng(seed).normal(size=200)) for seed in range(20)]
    assert np.mean(sizes) == pytest.approx(200, rel=0.2)


def test_effective_size_of_an_autoregression_is_known() -> None:
    sizes = [effective_size(autocorrelated(np.random.default_rng(s), 4000, 0.8)) for s in range(10)]
    assert np.mean(sizes) == pytest.approx(4000 * (1 - 0.8) / (1 + 0.8), rel=0.2)


def test_longer_windows_weigh_more() -> None:
    result = estimate([np.array([10.0, 10.0]), np.array([40.0, 40.0])], [np.full(2, 3.0), np.full(2, 1.0)])
    assert result.mean == pytest.approx(17.5)


def test_one_value_has_no_interval() -> None:
    assert estimate([np.array([10.0])], [np.ones(1)]).ci95 is None


def test_a_ramp_is_warm_up_and_noise_is_not() -> None:
    random = np.random.default_rng(13)
    steady = 100 + random.normal(size=60)
    ramp = np.concatenate([np.linspace(40, 95, 12), steady])
    assert 11 <= warm_up_length(ramp) <= 16
    dropped = [warm_up_length(100 + random.normal(size=60)) for _ in range(100)]
    assert sum(d > 0 for d in dropped) <= 10


def test_a_warm_up_is_never_guessed_from_few_values() -> None:
    assert warm_up_length(np.array([10.0, 20.0, 20.0, 20.0])) == 0
