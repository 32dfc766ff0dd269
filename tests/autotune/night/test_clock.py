"""A study's use of its budget: trials, running time and the wall clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import optuna
import pytest
from optuna.trial import TrialState, create_trial

from autotune.night.clock import NightClock, budget_of, seconds_spent
from autotune.spec import StudySpec
from autotune.trial_view import TrialView, view
from tests.autotune.night.nights import STUDY, write_study
from tests.autotune.night.views import interrupted, machine_failed, running, settings_failed, worked

_BERLIN = ZoneInfo("Europe/Berlin")


def _spec(folder: Path, ends: str, finals: int = 0) -> StudySpec:
    return write_study(folder, text=STUDY.replace("trials = {trials}", ends), finals=finals)


def _worked(count: int, seconds: float = 600.0) -> list[TrialView]:
    return [worked(number, seconds=seconds) for number in range(count)]


@pytest.mark.parametrize(
    ("hour", "day"), [(22, 30), (6, 29), (7, 30)], ids=["tonight", "this morning", "on the dot"]
)
def test_until_is_the_next_time_that_the_clock_shows_it(hour: int, day: int, tmp_path: Path) -> None:
    now = datetime(2026, 11, 29, hour, 0, tzinfo=_BERLIN)
    until = budget_of(_spec(tmp_path, 'until = "07:00"'), now).until
    assert until == datetime(2026, 11, day, 7, 0, tzinfo=_BERLIN)


def test_interrupted_and_running_trials_use_up_no_trials(tmp_path: Path) -> None:
    clock = NightClock(_spec(tmp_path, "trials = 3"), 0.0)
    history = [worked(0), interrupted(1), settings_failed(2), running(3)]
    assert clock.done(history) == 2
    assert clock.over(history) is None
    assert clock.over([*history, machine_failed(4)]) == "all 3 trials are done"


def test_running_time_of_earlier_runs_counts(tmp_path: Path) -> None:
    spec = _spec(tmp_path, "hours = 1")
    assert NightClock(spec, 1800.0).over(_worked(2)) is None
    assert NightClock(spec, 3601.0).over(_worked(2)) == "the time is over"


def test_a_trial_that_would_not_end_in_time_is_not_started(tmp_path: Path) -> None:
    reason = NightClock(_spec(tmp_path, "hours = 1"), 3300.0).over(_worked(3))
    assert reason is not None
    assert "too few for another trial of about 10 min" in reason


def test_one_slow_trial_in_five_is_planned_for(tmp_path: Path) -> None:
    history = [*_worked(4), worked(9, seconds=1200.0)]
    left = NightClock(_spec(tmp_path, "hours = 1"), 0.0).planned(history)
    assert left is not None
    assert left < 5 + 6


def test_finals_are_due_when_only_they_fit(tmp_path: Path) -> None:
    clock = NightClock(_spec(tmp_path, "trials = 12", finals=6), 0.0)
    assert not clock.finals_are_due(_worked(5))
    assert clock.finals_are_due(_worked(6))
    assert clock.finals_are_due([*_worked(4), worked(5, role="final")])
    assert not clock.finals_are_due([*_worked(4), interrupted(5, role="final")])


@pytest.mark.parametrize(
    ("history", "finals", "spare_s"),
    [
        pytest.param([], 0, 3600.0, id="nothing has worked yet"),
        pytest.param(_worked(2), 0, 3000.0, id="one more trial"),
        pytest.param(_worked(2), 4, 1200.0, id="the finals"),
        pytest.param([*_worked(1), *(worked(n, role="final", seconds=600.0) for n in (1, 2, 3))], 4, 3000.0),
        pytest.param(_worked(2), 9, 0.0, id="less than the finals need"),
    ],
)
def test_what_a_pause_may_take(history: list[TrialView], finals: int, spare_s: float, tmp_path: Path) -> None:
    spare = NightClock(_spec(tmp_path, "hours = 1", finals), 0.0).spare_s(history)
    assert spare is not None
    assert spare_s - 60 < spare <= spare_s


def test_without_a_clock_a_pause_may_take_any_time(tmp_path: Path) -> None:
    assert NightClock(_spec(tmp_path, "trials = 3"), 0.0).spare_s(_worked(1)) is None


def test_time_is_summed_over_all_that_ran() -> None:
    history = [
        worked(0, seconds=10.0),
        interrupted(1, seconds=5.5),
        running(2),
        machine_failed(3, seconds=1.0),
    ]
    assert seconds_spent(history) == pytest.approx(16.5)


def _told(attributes: dict[str, Any], took: timedelta) -> TrialView:
    trial = create_trial(state=TrialState.COMPLETE, value=80.0, user_attrs=attributes)
    begun = datetime(2026, 11, 29, 22, 0)
    frozen = optuna.trial.FrozenTrial(
        number=0,
        state=trial.state,
        value=80.0,
        datetime_start=begun,
        datetime_complete=begun + took,
        params={},
        distributions={},
        user_attrs=attributes,
        system_attrs={},
        intermediate_values={},
        trial_id=0,
    )
    return view(frozen, lambda settings: ())


def test_a_clock_that_is_set_during_a_trial_does_not_change_how_long_it_took() -> None:
    assert _told({"seconds": 42.5}, timedelta(hours=-2)).seconds == 42.5
    assert _told({"seconds": 42.5}, timedelta(hours=2)).seconds == 42.5
    assert _told({}, timedelta(hours=-2)).seconds == 0.0
    assert _told({}, timedelta(seconds=61)).seconds == 61.0
