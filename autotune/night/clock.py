"""The budget held against what a study has used so far."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta

from autotune.night.budget import Budget
from autotune.spec import StudySection
from autotune.trial_view import TrialView


class NightClock:
    """Counts trials, running time and wall-clock time.

    Attributes:
        planned: Trials in all, None without that bound.
    """

    def __init__(self, section: StudySection, earlier_s: float) -> None:
        """Start the clock.

        Args:
            earlier_s: What earlier runs of the study have spent in trials, s.
        """
        self._budget = budget_of(section, datetime.now().astimezone())
        self._earlier_s = earlier_s
        self._begun = time.monotonic()
        self.planned = section.trials

    def done(self, history: Sequence[TrialView]) -> int:
        return sum(1 for trial in history if trial.state.is_finished() and not trial.interrupted)

    def used_up(self, history: Sequence[TrialView]) -> str | None:
        return self._budget.used_up(self.done(history), self._hours, datetime.now().astimezone())

    def seconds_left(self, history: Sequence[TrialView]) -> float | None:
        done = self.done(history)
        spent_s = self._hours * 3600
        trial_s = spent_s / done if done else None
        return self._budget.seconds_left(done, self._hours, datetime.now().astimezone(), trial_s)

    @property
    def _hours(self) -> float:
        return (self._earlier_s + time.monotonic() - self._begun) / 3600


def budget_of(section: StudySection, now: datetime) -> Budget:
    """The bounds of a night that starts now; ``until`` is the next time that the clock shows it."""
    until = None
    if section.until is not None:
        until = now.replace(hour=section.until.hour, minute=section.until.minute, second=0, microsecond=0)
        if until <= now:
            until += timedelta(days=1)
    return Budget(trials=section.trials, hours=section.hours, until=until)
