"""How much night is left, in boots and in seconds. Decides from plain numbers; nothing here runs anything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Spent:
    """What a study has used up.

    Attributes:
        trials: Finished trials, interrupted ones left out.
        hours: Running time of all its runs, h.
        now: The present (aware).
        trial_s: How long a trial takes that goes to its end, s; None before the first one.
    """

    trials: int
    hours: float
    now: datetime
    trial_s: float | None


@dataclass(frozen=True)
class Budget:
    """The bounds of a night; the one that is reached first ends it.

    Attributes:
        trials: Boots in all, None without this bound.
        hours: Running time of all runs of the study together, h.
        until: Wall-clock end (aware), None without this bound.
    """

    trials: int | None = None
    hours: float | None = None
    until: datetime | None = None

    def over(self, spent: Spent) -> str | None:
        """Why nothing more is started, None while another trial fits."""
        if self.trials is not None and spent.trials >= self.trials:
            return f"all {self.trials} trials are done"
        left_s = self.seconds_left(spent)
        if left_s is None:
            return None
        if left_s <= 0:
            return "the time is over"
        if spent.trial_s is not None and left_s < spent.trial_s:
            return (
                f"{_minutes(left_s)} are left, too few for another trial of about {_minutes(spent.trial_s)}"
            )
        return None

    def boots_left(self, spent: Spent) -> int | None:
        """Trials that still fit; None while no bound and no trial duration tells."""
        fits: list[int] = []
        if self.trials is not None:
            fits.append(self.trials - spent.trials)
        left_s = self.seconds_left(spent)
        if left_s is not None and spent.trial_s:
            fits.append(math.floor(left_s / spent.trial_s))
        return max(0, min(fits)) if fits else None

    def seconds_left(self, spent: Spent) -> float | None:
        """Time until the clock ends the night, s; None without such a bound."""
        ends: list[float] = []
        if self.hours is not None:
            ends.append((self.hours - spent.hours) * 3600)
        if self.until is not None:
            ends.append((self.until - spent.now).total_seconds())
        return min(ends) if ends else None


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{max(0.0, seconds):.0f} s"
