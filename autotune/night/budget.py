"""How much night is left. Decides from plain numbers; nothing here runs anything."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


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

    def used_up(self, trials_done: int, hours_run: float, now: datetime) -> str | None:
        """Why the night is over, None while it is not."""
        if self.trials is not None and trials_done >= self.trials:
            return f"all {self.trials} trials are done"
        if self.hours is not None and hours_run >= self.hours:
            return f"the {self.hours:g} hours are over"
        if self.until is not None and now >= self.until:
            return f"it is {self.until:%H:%M}"
        return None

    def seconds_left(
        self, trials_done: int, hours_run: float, now: datetime, trial_s: float | None
    ) -> float | None:
        """Time until the night ends, s; None while no bound and no trial duration tells."""
        ends: list[float] = []
        if self.trials is not None and trial_s is not None:
            ends.append((self.trials - trials_done) * trial_s)
        if self.hours is not None:
            ends.append((self.hours - hours_run) * 3600)
        if self.until is not None:
            ends.append((self.until - now).total_seconds())
        return max(0.0, min(ends)) if ends else None
