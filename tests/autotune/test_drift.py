from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from autotune.drift import Drift, drift
from autotune.trial_view import TrialView
from autotune.verdict import decide
from tests.autotune.test_verdict import trial
from trials.settings import Limits

EVENING = datetime(2026, 11, 29, 22, tzinfo=UTC)


def at(hour: float, number: int, key: str, tok_s: float, role: str = "final") -> TrialView:
    return replace(trial(number, key, tok_s, role=role), started=EVENING + timedelta(hours=hour))


def night(per_h: float, lucky: float = 1.0) -> list[TrialView]:
    """A baseline before and after, and a winner whose search boot may have been lucky."""
    noise = (1.001, 0.999, 1.0, 1.001, 0.999, 1.0)
    hours = (0.0, 6.0, 6.5, 7.0, 6.2, 6.7, 7.2)
    speeds = [(1 + per_h) ** hour for hour in hours]
    return [
        at(0.0, 0, "mine", 80.0 * speeds[0], role="baseline"),
        at(1.0, 1, "a", 120.0 * (1 + per_h) * lucky, role="search"),
        *(at(hours[n], n + 1, "mine", 80.0 * speeds[n] * noise[n]) for n in (1, 2, 3)),
        *(at(hours[n], n + 1, "a", 120.0 * speeds[n] * noise[n - 1]) for n in (4, 5, 6)),
    ]


def found(trials: list[TrialView]) -> Drift:
    drifted = drift(trials, 1)
    assert drifted is not None
    return drifted


def test_a_machine_that_slows_down_is_seen_with_its_rate() -> None:
    drifted = found(night(-0.01))
    assert drifted.percent_per_h == pytest.approx(-1.0, abs=0.1)
    assert drifted.is_sure
    assert (drifted.boots, drifted.hours) == (7, pytest.approx(7.2))
    assert "Throughput drifted: -1.0" in drifted.sentence
    assert drifted.sentence in decide(night(-0.01), 1, Limits()).sentence


def test_a_steady_machine_is_said_to_be_steady() -> None:
    drifted = found(night(0.0))
    assert not drifted.is_sure
    assert "did not drift measurably" in drifted.sentence
    assert "drift" not in decide(night(0.0), 1, Limits()).sentence


def test_the_luck_of_the_picked_is_no_drift() -> None:
    assert found(night(0.0, lucky=1.2)).percent_per_h == pytest.approx(0.0, abs=0.1)


def test_nothing_is_known_without_repeats_or_within_minutes() -> None:
    assert drift([at(0, 0, "mine", 80.0, role="baseline"), at(3, 1, "a", 90.0)], 1) is None
    assert drift([at(0, 0, "mine", 80.0, role="baseline"), at(0.2, 1, "mine", 90.0)], 1) is None
    assert drift([trial(0, "mine", 80.0, role="baseline"), trial(1, "mine", 80.0, role="final")], 1) is None
