"""The budget held against what a study has used so far."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from autotune.night.budget import Budget, Spent
from autotune.night.finals import finals_boots
from autotune.spec import StudySpec
from autotune.trial_view import TrialView

_CAUTIOUS_QUANTILE = 0.8
"""A deadline is planned with a trial longer than most: half of them overrun their median."""

_LATE_S = 5.0
"""What passes between the end of a pause and the next trial, at most, s."""


class NightClock:
    """Counts trials, running time and wall-clock time."""

    def __init__(self, spec: StudySpec, earlier_s: float) -> None:
        """Start the clock.

        Args:
            earlier_s: What earlier runs of the study have spent in trials, s.
        """
        self._spec = spec
        self._budget = budget_of(spec, datetime.now().astimezone())
        self._earlier_s = earlier_s
        self._begun = time.monotonic()

    def over(self, history: Sequence[TrialView]) -> str | None:
        """Why the night is over, None while another trial fits."""
        return self._budget.over(self._spent(history))

    def finals_are_due(self, history: Sequence[TrialView]) -> bool:
        """True from the moment on when only the finals still fit."""
        left = self._budget.boots_left(self._spent(history))
        done = sum(1 for trial in history if trial.role == "final" and not trial.interrupted)
        return done > 0 or (left is not None and left <= self.finals_boots(history))

    def finals_boots(self, history: Sequence[TrialView]) -> int:
        """Boots kept for the finals."""
        return finals_boots(self._spec.finals.boots, self.planned(history))

    def planned(self, history: Sequence[TrialView]) -> int | None:
        """Trials of the whole night, None while nothing tells."""
        if self._spec.study.trials is not None and self._spec.study.hours is None and not self._budget.until:
            return self._spec.study.trials
        spent = self._spent(history)
        left = self._budget.boots_left(spent)
        return None if left is None else spent.trials + left

    def done(self, history: Sequence[TrialView]) -> int:
        return sum(1 for trial in history if trial.state.is_finished() and not trial.interrupted)

    def seconds_left(self, history: Sequence[TrialView]) -> float | None:
        """Until the night is expected to end, s."""
        spent = self._spent(history)
        left = self._budget.boots_left(spent)
        by_trials = left * spent.trial_s if left is not None and spent.trial_s else None
        ends = [end for end in (by_trials, self._budget.seconds_left(spent)) if end is not None]
        return max(0.0, min(ends)) if ends else None

    def spare_s(self, history: Sequence[TrialView]) -> float | None:
        """How long nothing need run so that what is left of the finals, or else one trial, still fits, s.

        None where no clock ends the night.
        """
        spent = self._spent(history)
        left = self._budget.seconds_left(spent)
        if left is None or not spent.trial_s:
            return left
        done = sum(1 for trial in history if trial.role == "final" and not trial.interrupted)
        kept = max(1, self.finals_boots(history) - done) * spent.trial_s
        return max(0.0, left - kept - _LATE_S)

    def _spent(self, history: Sequence[TrialView]) -> Spent:
        hours = (self._earlier_s + time.monotonic() - self._begun) / 3600
        return Spent(self.done(history), hours, datetime.now().astimezone(), _trial_seconds(history))


def seconds_spent(history: Sequence[TrialView]) -> float:
    """What a study's earlier trials have taken, s, however they ended."""
    return sum(trial.seconds for trial in history if trial.seconds is not None)


def _trial_seconds(history: Sequence[TrialView]) -> float | None:
    durations = [trial.seconds for trial in history if trial.worked and trial.seconds is not None]
    return float(np.quantile(durations, _CAUTIOUS_QUANTILE)) if durations else None


def budget_of(spec: StudySpec, now: datetime) -> Budget:
    """The bounds of a night that starts now; ``until`` is the next time that the clock shows it."""
    study = spec.study
    until = None
    if study.until is not None:
        until = now.replace(hour=study.until.hour, minute=study.until.minute, second=0, microsecond=0)
        if until <= now:
            until += timedelta(days=1)
    return Budget(trials=study.trials, hours=study.hours, until=until)
