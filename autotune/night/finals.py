"""The last boots are for the truth: fresh, interleaved boots of the best settings and of the baseline.

The best of many single measurements overstates itself: the maximum of noisy numbers is biased upwards (the
winner's curse). So the last part of the night boots the front runners and the baseline again, in random order
so that drift hits all alike, and the verdict rests on these boots alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from autotune.arms import Arm, BootNoise, pool
from autotune.front_runners import broken_by, front_runners
from autotune.night.asking import Request
from autotune.trial_view import TrialView, before_finals
from trials.settings import Limits

BOOTS_PER_ARM = 3
MOST_CONTENDERS = 3
LONG_NIGHT, LONG_FINALS = 40, 12
SHORT_NIGHT, SHORT_FINALS = 18, 9
"""Boots of a night and of its finals where the study file does not say; a shorter night has none."""
_ROUNDS_BEFORE_RACING = 2
_CLEARLY_SLOWER = 0.03
"""What is less than this share behind the leader is never given up: two boots may agree by chance."""


def finals_boots(asked: int | None, planned: int | None) -> int:
    """How many boots are kept for the finals.

    Args:
        asked: What ``[finals] boots`` says, None when it is left out.
        planned: Boots that the whole night is expected to reach, None while unknown.
    """
    if asked is not None:
        return asked if planned is None else min(asked, planned)
    if planned is None or planned >= LONG_NIGHT:
        return LONG_FINALS
    return SHORT_FINALS if planned >= SHORT_NIGHT else 0


@dataclass(frozen=True)
class Finals:
    """Decides the next final from what has been run; keeps no state of its own.

    Attributes:
        level: Load level that decides.
        seed: Of the random order.
        pinned: Gives the trial that the user made the baseline, None for the study's own.
    """

    level: int
    limits: Limits
    seed: int
    pinned: Callable[[], int | None] = lambda: None

    def next(self, history: Sequence[TrialView], boots: int) -> Request | None:
        """The next fresh boot, None when all are done or there is nothing to compare.

        Args:
            boots: Boots for all finals together.
        """
        arms = self._contenders(history, boots)
        if len(arms) < 2:
            return None
        finals = [trial for trial in history if trial.role == "final"]
        rounds = max(1, boots // len(arms))
        for turn in range(rounds):
            for arm in self._order(arms, turn):
                if self._has_booted(arm, finals, turn) or self._is_out(arm, arms, finals, turn):
                    continue
                why = f"fresh boot {turn + 1} of {rounds} of trial {arm.trials[0].number}: only these decide"
                return _request(arm, why)
        return self._left_over(arms, finals, boots)

    def _left_over(self, arms: Sequence[Arm], finals: Sequence[TrialView], boots: int) -> Request | None:
        """Boots that losers saved, or that make no whole round: for the leader and whom it is held against.

        That is the baseline, since theirs is the comparison that everybody reads; without one the runner-up.
        """
        if sum(not trial.interrupted for trial in finals) >= boots:
            return None
        booted = {arm.trials[0].asked: arm for arm in pool(finals, self.level)}
        standing = [
            (arm, booted[_asked(arm)])
            for arm in arms
            if _asked(arm) in booted and not self._is_out(arm, arms, finals, _ROUNDS_BEFORE_RACING)
        ]
        pair = self._leader_and_rival(standing)
        if len(pair) < 2:
            return None
        arm, _ = min(pair, key=lambda one: len(one[1].logs))
        return _request(arm, f"one more boot of trial {arm.trials[0].number}, with what the others left over")

    def _leader_and_rival(self, standing: Sequence[tuple[Arm, Arm]]) -> list[tuple[Arm, Arm]]:
        """Of contenders and what their finals measured the two that matter, the rival first."""
        baseline = [one for one in standing if self._is_baseline(one[0])]
        others = [
            one for one in standing if not self._is_baseline(one[0]) and not broken_by(one[1], self.limits)
        ]
        return [*baseline, *sorted(others, key=lambda one: one[1].mean_log, reverse=True)][:2]

    def _contenders(self, history: Sequence[TrialView], boots: int) -> list[Arm]:
        """The best arms inside the limits, and the baseline's, as they stood before the first final."""
        arms = pool(before_finals(history), self.level)
        most = min(MOST_CONTENDERS, max(1, boots // BOOTS_PER_ARM - 1))
        mine = [arm for arm in arms if self._is_baseline(arm)]
        best = [arm for arm in front_runners(arms, self.limits) if arm not in mine]
        return best[:most] + mine

    def _is_baseline(self, arm: Arm) -> bool:
        pinned = self.pinned()
        if pinned is not None:
            return any(trial.number == pinned for trial in arm.trials)
        return any(trial.role == "baseline" for trial in arm.trials)

    def _order(self, arms: Sequence[Arm], turn: int) -> list[Arm]:
        return random.Random(f"{self.seed}:{turn}").sample(arms, len(arms))

    def _has_booted(self, arm: Arm, finals: Sequence[TrialView], turn: int) -> bool:
        return sum(1 for trial in finals if trial.worked and trial.asked == _asked(arm)) > turn

    def _is_out(self, arm: Arm, arms: Sequence[Arm], finals: Sequence[TrialView], turn: int) -> bool:
        """Settings that did not boot have lost; after two rounds so has what is clearly slower."""
        if any(
            trial.failure and not trial.environment_failed for trial in finals if trial.asked == _asked(arm)
        ):
            return True
        if turn < _ROUNDS_BEFORE_RACING or self._is_baseline(arm):
            return False
        booted = {final.key: final for final in pool(finals, self.level)}
        return arm.key in booted and _clearly_beaten(booted[arm.key], list(booted.values()))


def _request(arm: Arm, why: str) -> Request:
    first = arm.trials[0]
    return Request(dict(first.settings), "final", why, replicate_of=first.number)


def _asked(arm: Arm) -> Hashable:
    return arm.trials[0].asked


def _clearly_beaten(arm: Arm, arms: Sequence[Arm]) -> bool:
    best = max(arms, key=lambda other: other.mean_log)
    if best.key == arm.key:
        return False
    gap = BootNoise.pooled(arms).ratio(arm, best)
    return gap.ci95[1] < 1 and gap.ratio < 1 - _CLEARLY_SLOWER
