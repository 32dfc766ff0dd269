"""Whether the machine became faster or slower over the night, read off boots of the same settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from autotune.arms import BootNoise, pool
from autotune.trial_view import TrialView

_SHORTEST_H = 0.5
"""Over less than this a drift per hour would be an extrapolation."""


@dataclass(frozen=True)
class Drift:
    """A steady change of throughput.

    Attributes:
        percent_per_h: Below 0 where the machine slowed down.
        ci95: Its 95 % interval, Student's t.
        boots: Boots that it rests on.
        hours: From the first of them to the last.
    """

    percent_per_h: float
    ci95: tuple[float, float]
    boots: int
    hours: float

    @property
    def is_sure(self) -> bool:
        low, high = self.ci95
        return low > 0 or high < 0

    @property
    def sentence(self) -> str:
        low, high = self.ci95
        what = "drifted" if self.is_sure else "did not drift measurably"
        return (
            f"Throughput {what}: {self.percent_per_h:+.2f} % an hour (95 % {low:+.2f} to {high:+.2f}) over "
            f"{self.hours:.1f} h, from {self.boots} boots of settings that ran more than once."
        )


def drift(trials: Sequence[TrialView], level: int) -> Drift | None:
    """The slope of log throughput over time, common to all settings that were booted again; None if unknown.

    Settings that were booted again because they led had been lucky in the search: that boot would make every
    machine seem to slow down. So of them only canaries and finals count; the baseline, which was not picked
    for its number, counts from its first boot on.
    """
    counted = [trial for trial in trials if trial.role != "search" and trial.started is not None]
    arms = [arm for arm in pool(counted, level) if len(arm.logs) > 1]
    if not arms:
        return None
    began = [np.array([trial.started.timestamp() for trial in arm.trials if trial.started]) for arm in arms]
    hours = np.concatenate([moments - moments.mean() for moments in began]) / 3600
    logs = np.concatenate([np.array(arm.logs) - arm.mean_log for arm in arms])
    span = (max(moments.max() for moments in began) - min(moments.min() for moments in began)) / 3600
    leverage = float(hours @ hours)
    if span < _SHORTEST_H or leverage == 0:
        return None
    slope = float(hours @ logs) / leverage
    noise = BootNoise.from_squares(float(((logs - slope * hours) ** 2).sum()), logs.size - len(arms) - 1)
    half = float(stdtrit(noise.degrees, 0.975)) * math.sqrt(noise.variance / leverage)
    return Drift(100 * slope, (100 * (slope - half), 100 * (slope + half)), logs.size, float(span))
