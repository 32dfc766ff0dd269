"""Trials that ran the same settings, pooled: their throughput at one level and how sure it is.

Everything is reckoned in logarithms, since the noise between boots is a share of the throughput.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from scipy.special import stdtrit

from autotune.trial_view import TrialView

_USUAL_BOOT_NOISE = 0.02
"""Standard deviation between boots of one command, as a share: 1 to 3 % is common on idle machines."""
_WEIGHT_OF_USUAL = 4
"""How many observed differences between boots the usual noise counts for."""


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
class Arm:
    """All completed trials of one canonical key at one level, oldest first."""

    key: Hashable
    trials: tuple[TrialView, ...]
    level: int

    @property
    def logs(self) -> list[float]:
        return [
            math.log(measured.decode_tok_s) for trial in self.trials if (measured := trial.at(self.level))
        ]

    @property
    def mean_log(self) -> float:
        return math.fsum(self.logs) / len(self.logs)

    @property
    def within_half_width(self) -> float:
        """Half of one boot's own 95 % interval, as a share of its throughput; 0 where it gave none."""
        shares = [
            (high - low) / 2 / measured.decode_tok_s
            for trial in self.trials
            if (measured := trial.at(self.level)) and measured.decode_tok_s_ci95
            for low, high in [measured.decode_tok_s_ci95]
        ]
        return math.sqrt(math.fsum(share**2 for share in shares) / len(shares)) if shares else 0.0


@dataclass(frozen=True)
class BootNoise:
    """Variance between boots, pooled over all arms that were booted more than once."""

    variance: float
    degrees: int

    @classmethod
    def pooled(cls, arms: Iterable[Arm]) -> BootNoise:
        """Start from the usual noise and let observed differences take over."""
        squares, degrees = _WEIGHT_OF_USUAL * _USUAL_BOOT_NOISE**2, _WEIGHT_OF_USUAL
        for arm in arms:
            squares += math.fsum((log - arm.mean_log) ** 2 for log in arm.logs)
            degrees += len(arm.logs) - 1
        return cls(squares / degrees, degrees)

    def estimate(self, arm: Arm) -> Estimate:
        half = self._half_width(arm)
        interval = (math.exp(arm.mean_log - half), math.exp(arm.mean_log + half))
        return Estimate(math.exp(arm.mean_log), interval, len(arm.logs))

    def ratio(self, arm: Arm, base: Arm) -> tuple[float, tuple[float, float]]:
        """How many times faster ``arm`` is than ``base``, with a 95 % interval."""
        middle = arm.mean_log - base.mean_log
        half = math.hypot(self._half_width(arm), self._half_width(base))
        return math.exp(middle), (math.exp(middle - half), math.exp(middle + half))

    def _half_width(self, arm: Arm) -> float:
        """Of the mean logarithm; the noise between boots contains that within them, unless it is larger."""
        between = float(stdtrit(self.degrees, 0.975)) * math.sqrt(self.variance)
        return max(between, arm.within_half_width) / math.sqrt(len(arm.logs))


def pool(trials: Sequence[TrialView], level: int) -> list[Arm]:
    """Arms of all completed trials that were measured at ``level``, in the order of their first trial."""
    groups: dict[Hashable, list[TrialView]] = {}
    for trial in trials:
        measured = trial.at(level) if trial.worked else None
        if measured is not None and measured.decode_tok_s > 0:
            groups.setdefault(trial.key, []).append(trial)
    return [Arm(key, tuple(members), level) for key, members in groups.items()]
