"""Trials that ran the same settings, pooled: their throughput at one level and how sure it is.

Everything is reckoned in logarithms, since the noise between boots is a share of the throughput.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from scipy.special import stdtrit

from autotune.trial_view import TrialView

NORMAL_QUANTILE = 1.96
"""Standard deviations from the middle to the edge of a 95 % interval."""

_USUAL_BOOT_NOISE = 0.02
"""Standard deviation between boots of one command, as a share: 1 to 3 % is common on idle machines."""
_LEAST_BOOT_NOISE = 1e-4
"""Never less, whatever a few equal boots seem to say."""
_FEWEST_DEGREES = 4
"""With fewer observed differences between boots the usual noise stands in for those that are missing."""


@dataclass(frozen=True)
class Estimate:
    """A throughput.

    Attributes:
        tok_s: tok/s over all streams of the level.
        ci95: Its 95 % interval over boots, tok/s.
        boots: Boots that it rests on.
    """

    tok_s: float
    ci95: tuple[float, float]
    boots: int


@dataclass(frozen=True)
class Gain:
    """How many times faster than the baseline (1.6: sixty percent faster), with its 95 % interval."""

    ratio: float
    ci95: tuple[float, float]


@dataclass(frozen=True)
class Arm:
    """All completed trials of one canonical key at one level, oldest first."""

    key: Hashable
    trials: tuple[TrialView, ...]
    level: int

    @cached_property
    def logs(self) -> list[float]:
        return [
            math.log(measured.decode_tok_s) for trial in self.trials if (measured := trial.at(self.level))
        ]

    @cached_property
    def mean_log(self) -> float:
        return math.fsum(self.logs) / len(self.logs)

    @cached_property
    def within_half_width(self) -> float:
        """Half of one boot's own 95 % interval, as a share of its throughput; 0 where it gave none."""
        shares = [
            (high - low) / 2 / measured.decode_tok_s
            for trial in self.trials
            if (measured := trial.at(self.level)) and measured.decode_tok_s_ci95
            for low, high in [measured.decode_tok_s_ci95]
        ]
        return math.sqrt(math.fsum(share**2 for share in shares) / len(shares)) if shares else 0.0

    @property
    def within_deviation(self) -> float:
        """The same as a standard deviation."""
        return self.within_half_width / NORMAL_QUANTILE


@dataclass(frozen=True)
class BootNoise:
    """Variance between boots, pooled over all arms that were booted more than once."""

    variance: float
    degrees: int

    @classmethod
    def pooled(cls, arms: Iterable[Arm]) -> BootNoise:
        """Over the arms' boots around their own means."""
        squares, degrees = 0.0, 0
        for arm in arms:
            squares += math.fsum((log - arm.mean_log) ** 2 for log in arm.logs)
            degrees += len(arm.logs) - 1
        return cls.from_squares(squares, degrees)

    @classmethod
    def from_squares(cls, squares: float, degrees: int) -> BootNoise:
        """What was observed, and the usual noise only as far as that is too little."""
        missing = max(0, _FEWEST_DEGREES - degrees)
        degrees += missing
        squares += missing * _USUAL_BOOT_NOISE**2
        return cls(max(squares / degrees, _LEAST_BOOT_NOISE**2), degrees)

    def variance_of(self, arm: Arm) -> float:
        """Of one boot's logarithm; the noise between boots contains that within, unless it is larger."""
        return max(self.variance, arm.within_deviation**2)

    def estimate(self, arm: Arm) -> Estimate:
        """The mean of its boots and its 95 % interval."""
        half = self.half_width(arm)
        interval = (math.exp(arm.mean_log - half), math.exp(arm.mean_log + half))
        return Estimate(math.exp(arm.mean_log), interval, len(arm.logs))

    def ratio(self, arm: Arm, base: Arm) -> Gain:
        """How many times faster ``arm`` is than ``base``; nothing is allowed for its having been picked."""
        middle = arm.mean_log - base.mean_log
        half = math.hypot(self.half_width(arm), self.half_width(base))
        return Gain(math.exp(middle), (math.exp(middle - half), math.exp(middle + half)))

    def half_width(self, arm: Arm) -> float:
        """Of the mean logarithm, by Student's t; noise within boots counts where it is the larger."""
        return max(self.half_width_of(len(arm.logs)), arm.within_half_width / math.sqrt(len(arm.logs)))

    def half_width_of(self, boots: int) -> float:
        """The same from the noise between boots alone."""
        return float(stdtrit(self.degrees, 0.975)) * math.sqrt(self.variance / boots)


def pool(trials: Sequence[TrialView], level: int) -> list[Arm]:
    """Arms of all completed trials that were measured at ``level``, in the order of their first trial."""
    groups: dict[Hashable, list[TrialView]] = {}
    for trial in trials:
        measured = trial.at(level) if trial.worked else None
        if measured is not None and measured.decode_tok_s > 0:
            groups.setdefault(trial.key, []).append(trial)
    return [Arm(key, tuple(members), level) for key, members in groups.items()]
