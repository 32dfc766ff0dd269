"""Which settings are given up early and which must survive a soak."""

from __future__ import annotations

import pytest

from autotune.night.contenders import FAR_BELOW, NEAR_THE_BEST, hopeless_below, soak_above
from tests.autotune.night.views import settings_failed, stopped, worked
from trials.settings import BenchPlan

_HISTORY = [worked(0, 80.0), worked(1, 100.0), stopped(2), settings_failed(3), worked(4, 90.0)]
_ONE_LEVEL = BenchPlan(levels=(1,), main_level=1)


def test_far_below_the_best_is_hopeless_and_near_it_is_soaked() -> None:
    assert hopeless_below(_HISTORY, _ONE_LEVEL, "search") == pytest.approx(FAR_BELOW * 100.0)
    assert soak_above(_HISTORY) == pytest.approx(NEAR_THE_BEST * 100.0)


@pytest.mark.parametrize("role", ["baseline", "canary", "final"])
def test_what_is_repeated_on_purpose_is_measured_whole(role: str) -> None:
    assert hopeless_below(_HISTORY, _ONE_LEVEL, role) is None


def test_several_levels_are_measured_whole() -> None:
    assert hopeless_below(_HISTORY, BenchPlan(levels=(1, 8), main_level=1), "search") is None


def test_giving_up_can_be_switched_off() -> None:
    plan = BenchPlan(levels=(1,), main_level=1, stop_hopeless=False)
    assert hopeless_below(_HISTORY, plan, "search") is None


def test_before_anything_has_worked_all_are_measured_and_soaked() -> None:
    assert hopeless_below([settings_failed(0)], _ONE_LEVEL, "search") is None
    assert soak_above([settings_failed(0)]) == 0.0
