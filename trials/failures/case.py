"""Everything that a rule may look at when it judges one exception."""

from __future__ import annotations

from dataclasses import dataclass

from trials.failures.incidents import Incident
from trials.failures.sites import stage_of
from trials.failures.situation import Situation
from trials.outcome import Stage


@dataclass(frozen=True)
class Case:
    """One exception to judge: its own words, where it came from, and the situation."""

    text: str
    incident: Incident
    situation: Situation

    @property
    def frames(self) -> str:
        return "\n".join(self.incident.frames)

    @property
    def stage(self) -> Stage:
        """What failed: the rank's activity, corrected by what the traceback was in the middle of."""
        return stage_of(self.incident, self.situation)
