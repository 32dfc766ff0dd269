"""Objective, belief, limits and acquisition: small cases with known answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from autotune.search.acquisition import log_expected_improvement, worth
from autotune.search.belief import Belief, replicate_noise
from autotune.search.codec import Codec
from autotune.search.history import History, Observation
from autotune.search.limits import LimitModel, check_limits, satisfies
from autotune.search.memory import MemoryWindow
from autotune.search.objective import GaussianProcess, ScalePrior, few_enough
from tests.autotune.search.search_cases import PLAIN, SPACE, good

CODEC = Codec(SPACE)
WINDOW = MemoryWindow(CODEC, [])


def _history(*seen: Observation) -> History:
    return History(seen, {}, logarithmic=False, sign=1)


def test_effects_of_single_settings_add_up() -> None:
    """Two changes seen apart are expected together, though never seen together."""
    units = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    scores = np.array([1.0, 1.5, 1.3, 1.0])
    model = GaussianProcess(units, scores, np.ones(4), np.array([True, True]), ScalePrior(0.01))
    mean, _ = model.predict(np.array([[1.0, 1.0]]))
    assert mean[0] > 1.45


def test_what_was_measured_is_more_certain_than_what_was_not() -> None:
    units = np.array([[0.0, 0.1], [0.0, 0.5], [1.0, 0.3]])
    model = GaussianProcess(units, np.array([1.0, 1.2, 0.8]), np.ones(3), np.array([True, False]))
    _, deviation = model.predict(np.array([[0.0, 0.5], [2.0, 0.9]]))
    assert deviation[0] < 0.5 * deviation[1]


def test_the_gradient_of_the_fit_is_right() -> None:
    rng = np.random.default_rng(3)
    units = np.column_stack([rng.integers(0, 3, 12).astype(float), rng.random(12)])
    units[:3, 1] = np.nan
    model = GaussianProcess(units, rng.normal(size=12), np.ones(12), np.array([True, False]))
    same, apart = model._compare(units, units)
    means, spreads = model._start()
    theta = means + 0.3 * rng.normal(size=len(means))
    _, gradient = model._loss(theta, same, apart, means, spreads)
    for at in range(len(theta)):
        step = np.zeros_like(theta)
        step[at] = 1e-5
        above, _ = model._loss(theta + step, same, apart, means, spreads)
        below, _ = model._loss(theta - step, same, apart, means, spreads)
        assert gradient[at] == pytest.approx((above - below) / 2e-5, rel=1e-4, abs=1e-4)


def test_of_very_many_boots_the_best_and_the_latest_are_kept() -> None:
    scores = np.zeros(1000)
    scores[3] = 9.0
    kept = few_enough(scores)
    assert 3 in kept
    assert 999 in kept
    assert len(kept) <= 250


def test_the_incumbent_is_the_best_mean_not_the_luckiest_boot() -> None:
    """Four boots of one setting at 100 to 102 outrank one of another that reached 103 once and 90 twice."""
    other = {"all_reduce": "pcie_ipc"}
    seen = [good(at, value) for at, value in enumerate((100.0, 101.0, 102.0, 101.0))]
    seen += [good(4, 103.0, **other), good(5, 90.0, **other), good(6, 90.0, **other)]
    belief = Belief(CODEC, _history(*seen), WINDOW, {})
    assert belief.incumbent.seen.settings["all_reduce"] == "nccl"


def test_noise_is_learned_from_replicates() -> None:
    steady = [good(at, 100.0 + 0.1 * (at % 2)) for at in range(8)]
    wild = [good(at, 100.0 + 12.0 * (at % 2)) for at in range(8)]
    assert replicate_noise(CODEC, steady, False).deviation < 1.5
    assert replicate_noise(CODEC, wild, False).deviation > 4.0
    assert replicate_noise(CODEC, steady, False).certainty == 7
    assert replicate_noise(CODEC, [good(0)], False).certainty == 0


def test_pending_boots_are_expected_and_so_less_attractive() -> None:
    seen = [good(0, 100.0), good(1, 120.0, all_reduce="pcie_ipc")]
    asked = {**PLAIN, "layout": "tp8-adp2"}
    units = CODEC.unit(CODEC.values_of([asked]))
    free = Belief(CODEC, _history(*seen), WINDOW, {}).predict(units)[1][0]
    busy = Belief(CODEC, _history(*seen, Observation(2, asked, "pending")), WINDOW, {}).predict(units)[1][0]
    assert busy < 0.8 * free


def test_a_boot_that_breaks_a_limit_is_no_incumbent() -> None:
    limits = check_limits({"min_kv_tokens": 200_000, "max_ttft_p95_ms": None})
    fast = Observation(**{**vars(good(0, 150.0)), "boot": {"kv_tokens": 90_000}})
    slow = Observation(**{**vars(good(1, 100.0, layout="tp8-adp2")), "boot": {"kv_tokens": 300_000}})
    assert limits == {"min_kv_tokens": 200_000.0}
    assert not satisfies(fast, limits)
    assert Belief(CODEC, _history(fast, slow), WINDOW, limits).incumbent.seen.number == 1


def test_limits_are_learned_from_good_boots() -> None:
    seen = []
    for at, (layout, tokens) in enumerate([("tp8", 400_000), ("tp8-adp2", 50_000)] * 3):
        boot = {"kv_tokens": tokens + 100 * at}
        seen.append(Observation(**{**vars(good(at, layout=layout)), "boot": boot}))
    model = LimitModel(CODEC, WINDOW, seen, {"min_kv_tokens": 200_000.0})
    roomy, tight = model.chances(CODEC.unit(CODEC.values_of([PLAIN, {**PLAIN, "layout": "tp8-adp2"}])))
    assert roomy > 0.9
    assert tight < 0.1


def test_a_limit_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match="max_ttft is not a limit"):
        check_limits({"max_ttft": 3.0})


def test_expected_improvement_in_logarithms_is_exact_and_never_overflows() -> None:
    mean, deviation = np.array([1.0, 0.0, -3.0]), np.array([0.5, 1.0, 1.0])
    z = mean / deviation
    exact = np.log(deviation * (z * norm.cdf(z) + norm.pdf(z)))
    assert log_expected_improvement(mean, deviation, 0.0) == pytest.approx(exact, abs=1e-6)
    far = log_expected_improvement(np.array([-1000.0, 1000.0]), np.ones(2), 0.0)
    assert np.all(np.isfinite(far))
    assert far[0] < -1000


def test_likely_crashes_need_to_promise_much_more_but_are_never_barred() -> None:
    one = np.ones(4)
    score = worth(np.array([0.0, 0.0, 2.5, 4.5]), np.array([1.0, 0.5, 0.2, 0.2]), one, one)
    assert score[3] > score[0] > score[1] > score[2]
    assert np.all(np.isfinite(worth(np.zeros(4), np.zeros(4), one, one)))
    cheap, dear = worth(np.zeros(2), one[:2], one[:2], np.array([0.1, 1.0]))
    assert cheap > dear
