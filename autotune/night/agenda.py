"""What to run next, before the sampler is asked: known-good settings, wishes, and what must be repeated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from autotune.night.asking import Request, Role
from autotune.trial_view import TrialView
from trials.settings import Settings

Canonical = Callable[[Mapping[str, Any]], Hashable]


def next_request(
    history: Sequence[TrialView],
    baseline: Settings,
    known_good: Sequence[Settings],
    wishes: Sequence[Settings],
    canonical: Canonical,
) -> Request | None:
    """The next trial with given settings, None when the sampler may choose.

    Args:
        baseline: The settings that everything is compared with; may be empty (the command as given).
        known_good: The other ``[[known_good]]`` entries, in order.
        wishes: Settings that the user asked to try, oldest first.
    """
    if not any(trial.role == "baseline" for trial in history):
        return Request(baseline, "baseline", "your own settings, to compare with")
    return _repeat(history) or _first_new(history, known_good, wishes, canonical)


def _repeat(history: Sequence[TrialView]) -> Request | None:
    repeated = {trial.replicate_of for trial in history}
    for trial in history:
        if trial.role in ("canary", "final") or trial.number in repeated:
            continue
        if trial.interrupted:
            return _again(trial, f"trial {trial.number} was interrupted before it could answer")
        if trial.environment_failed and not _was_the_repeat(trial, history):
            return _again(trial, f"the machine, not the settings, ended trial {trial.number}")
    return None


def _again(trial: TrialView, why: str) -> Request:
    role: Role = "baseline" if trial.role == "baseline" else "search"
    return Request(trial.settings, role, why, replicate_of=trial.number)


def _was_the_repeat(trial: TrialView, history: Sequence[TrialView]) -> bool:
    """Whether these settings have failed for the environment's sake before."""
    earlier = (past for past in history if past.number < trial.number)
    return any(past.environment_failed and past.asked == trial.asked for past in earlier)


def _first_new(
    history: Sequence[TrialView],
    known_good: Sequence[Settings],
    wishes: Sequence[Settings],
    canonical: Canonical,
) -> Request | None:
    tried = {trial.asked for trial in history}
    known = ((settings, "known good, from study.toml") for settings in known_good)
    wished = ((settings, "you asked for it") for settings in wishes)
    for settings, why in (*known, *wished):
        if canonical(settings) not in tried:
            return Request(settings, "search", why)
    return None
