"""What to run next, before the sampler is asked: known-good settings, wishes, and what must be repeated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autotune.night.asking import Request, Role
from autotune.trial_view import TrialView
from trials.settings import Settings


@dataclass(frozen=True)
class Wish:
    """Settings that the user asked to try, with the inbox request that asks for them."""

    id: int
    settings: Settings


@dataclass(frozen=True)
class Agenda:
    """The settings that come before any proposal.

    Attributes:
        baseline: What everything is compared with; may be empty (the command as given).
        known_good: The other ``[[known_good]]`` entries, in order.
        canonical: Key under which two settings are the same.
        is_whole: True for settings that lack nothing; a trial that died while it was drawn has not all.
        first: Number of this run's first trial.
    """

    baseline: Settings
    known_good: Sequence[Settings]
    canonical: Callable[[Mapping[str, Any]], Hashable]
    is_whole: Callable[[Mapping[str, Any]], bool]
    first: int = 0

    def next(self, history: Sequence[TrialView], wishes: Sequence[Wish]) -> Request | None:
        """The next trial with given settings, None when the sampler may choose."""
        return (
            self._baseline(history)
            or self._repeat(history)
            or self._known_good(history)
            or self._wished(wishes)
        )

    def _baseline(self, history: Sequence[TrialView]) -> Request | None:
        """Your own settings, and once in every later run that follows one whose machine failed them."""
        mine = [trial for trial in history if trial.role == "baseline"]
        if not mine:
            return Request(self.baseline, "baseline", "your own settings, to compare with")
        settled = [trial for trial in mine if not trial.interrupted]
        if not settled or any(
            not trial.environment_failed or trial.number >= self.first for trial in settled
        ):
            return None
        return _again(
            mine[-1], f"the machine, not your settings, ended trial {settled[-1].number} in an earlier run"
        )

    def _repeat(self, history: Sequence[TrialView]) -> Request | None:
        repeated = {trial.replicate_of for trial in history}
        for trial in history:
            if trial.number in repeated or not self._may_repeat(trial):
                continue
            if trial.interrupted:
                return _again(trial, f"trial {trial.number} was interrupted before it could answer")
            if trial.environment_failed and trial.death is None and not _was_the_repeat(trial, history):
                return _again(trial, f"the machine, not the settings, ended trial {trial.number}")
        return None

    def _may_repeat(self, trial: TrialView) -> bool:
        if trial.role == "baseline":
            return True
        return trial.role == "search" and self.is_whole(trial.settings)

    def _known_good(self, history: Sequence[TrialView]) -> Request | None:
        tried = {trial.asked for trial in history}
        for settings in self.known_good:
            if self.canonical(settings) not in tried:
                return Request(settings, "search", "known good, from study.toml")
        return None

    def _wished(self, wishes: Sequence[Wish]) -> Request | None:
        for wish in wishes:
            return Request(wish.settings, "search", "you asked for it", wish=wish.id)
        return None


def _again(trial: TrialView, why: str) -> Request:
    role: Role = "baseline" if trial.role == "baseline" else "search"
    return Request(trial.settings, role, why, replicate_of=trial.number)


def _was_the_repeat(trial: TrialView, history: Sequence[TrialView]) -> bool:
    """Whether these settings have failed for the environment's sake before."""
    earlier = (past for past in history if past.number < trial.number)
    return any(past.environment_failed and past.asked == trial.asked for past in earlier)
