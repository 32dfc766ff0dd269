"""Which settings lead within the study's limits."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.arms import Arm, BootNoise
from autotune.limits import broken_limits
from autotune.search_belief import SearchBelief
from trials.settings import Limits


def front_runners(arms: Sequence[Arm], limits: Limits) -> list[Arm]:
    """Arms of the search that keep the limits, those believed fastest first."""
    if not arms:
        return []
    belief = SearchBelief(arms, BootNoise.pooled(arms))
    inside = [arm for arm in arms if not broken_by(arm, limits)]
    return sorted(inside, key=belief.middle, reverse=True)


def broken_by(arm: Arm, limits: Limits) -> str:
    """What any of the arm's boots breaks, empty if nothing."""
    for trial in arm.trials:
        measured = trial.at(arm.level)
        if measured and (broken := broken_limits(limits, trial.settings, measured, trial.boot)):
            return "; ".join(broken)
    return ""
