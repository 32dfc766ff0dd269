"""What still fits into a night."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from autotune.night.budget import Budget, Spent
from autotune.night.finals import finals_boots

_NOW = datetime(2026, 11, 29, 22, 0, tzinfo=UTC)


def _spent(trials: int = 0, hours: float = 0.0, trial_s: float | None = 600.0) -> Spent:
    return Spent(trials, hours, _NOW, trial_s)


@pytest.mark.parametrize(
    ("budget", "spent", "left"),
    [
        (Budget(trials=10), _spent(trials=4), 6),
        (Budget(trials=10), _spent(trials=12), 0),
        (Budget(hours=1.0), _spent(hours=0.5), 3),
        (Budget(hours=1.0), _spent(hours=0.5, trial_s=None), None),
        (Budget(until=_NOW + timedelta(minutes=25)), _spent(), 2),
        (Budget(trials=10, hours=0.5), _spent(trials=1), 3),
    ],
)
def test_boots_left(budget: Budget, spent: Spent, left: int | None) -> None:
    assert budget.boots_left(spent) == left


def test_nothing_is_started_that_cannot_finish() -> None:
    budget = Budget(hours=1.0)
    assert budget.over(_spent(hours=0.8)) is None
    reason = budget.over(_spent(hours=0.9))
    assert reason is not None
    assert "6 min are left" in reason
    assert "10 min" in reason


def test_first_trial_starts_though_nobody_knows_how_long_it_takes() -> None:
    assert Budget(hours=0.1).over(_spent(trial_s=None)) is None


def test_time_is_over() -> None:
    assert Budget(until=_NOW).over(_spent()) == "the time is over"
    assert Budget(trials=3).over(_spent(trials=3)) == "all 3 trials are done"


@pytest.mark.parametrize(
    ("asked", "planned", "boots"),
    [(None, None, 12), (None, 40, 12), (None, 39, 9), (None, 17, 0), (0, 100, 0), (12, 100, 12), (12, 6, 6)],
)
def test_finals_boots(asked: int | None, planned: int | None, boots: int) -> None:
    assert finals_boots(asked, planned) == boots
