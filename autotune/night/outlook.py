"""What a night may become, said before its first boot."""

from __future__ import annotations

from datetime import datetime

from autotune.night.budget import Spent
from autotune.night.clock import budget_of
from autotune.night.finals import finals_boots
from autotune.spec import StudySpec

ASSUMED_TRIAL_S = 600.0
"""A boot of a large model with its measurement takes 5 to 15 minutes; learned as the night goes, s."""
ASSUMED_BOX_TRIAL_S = 5.0


def outlook(spec: StudySpec, now: datetime) -> str:
    """One sentence: boots in all, how many of them for the finals, until when.

    Args:
        now: The present (aware).
    """
    trial_s = ASSUMED_BOX_TRIAL_S if spec.server.simulated else ASSUMED_TRIAL_S
    budget = budget_of(spec, now)
    spent = Spent(trials=0, hours=0.0, now=now, trial_s=trial_s)
    boots = budget.boots_left(spent)
    if boots is None:
        return "no end is set"
    seconds = budget.seconds_left(spent)
    finals = finals_boots(spec.finals.boots, boots)
    by_time = seconds is not None and boots < (spec.study.trials or boots + 1)
    about = f"about {boots} boots of {_words(trial_s)}" if by_time else f"{boots} boots"
    until = f" by {budget.until:%H:%M}" if budget.until is not None else ""
    return f"{about}{until}, {finals} of them for the finals"


def _words(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"
