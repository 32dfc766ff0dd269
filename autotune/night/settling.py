"""From an outcome to what is told: a suspicious failure waits for its canary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autotune.night.asking import Asked, Request
from autotune.night.canary import CanaryAnswer, Suspect, is_unexpected, needs_canary, sentence
from autotune.night.study_book import StudyBook
from autotune.trial_view import TrialView
from db.journal import Journal
from trials.attempt import failed
from trials.outcome import (
    AnyOutcome,
    Completed,
    EnvironmentFailed,
    Failure,
    Interrupted,
    SettingsFailed,
    Stopped,
)

RunAsked = Callable[[Asked], AnyOutcome]


@dataclass(frozen=True)
class Settled:
    """A trial is told.

    Attributes:
        outcome: As it was told.
        end_night: Why the night must stop, None to go on.
    """

    outcome: AnyOutcome
    end_night: str | None = None


class Settling:
    """Tells trials; runs a canary where the failure may be the machine's."""

    def __init__(self, book: StudyBook, journal: Journal, run: RunAsked) -> None:
        self._book = book
        self._journal = journal
        self._run = run

    def settle(self, asked: Asked, outcome: AnyOutcome, history: Sequence[TrialView]) -> Settled:
        """Tell a trial's outcome.

        Args:
            history: The study before this trial.
        """
        if not outcome.stop_proven:
            self._book.finish(asked, outcome)
            return Settled(outcome, outcome.left_behind)
        if isinstance(outcome, SettingsFailed | EnvironmentFailed) and asked.role != "canary":
            suspect = _suspect(asked, outcome.failure, history)
            if needs_canary(suspect):
                return self._doubt(asked, outcome, suspect, history)
        self._book.finish(asked, outcome)
        return Settled(outcome)

    def _doubt(
        self,
        asked: Asked,
        outcome: SettingsFailed | EnvironmentFailed,
        suspect: Suspect,
        history: Sequence[TrialView],
    ) -> Settled:
        answer = self._ask_canary(asked, history)
        if answer is None:
            told: AnyOutcome = Interrupted(**without_failure(outcome))
            self._book.finish(asked, told)
            return Settled(told)
        verdict = sentence(suspect, answer)
        if verdict.suspects:
            self._book.suspect(verdict.suspects)
        told = failed(verdict.failure, **without_failure(outcome))
        self._book.finish(asked, told)
        return Settled(told, verdict.end_night)

    def _ask_canary(self, suspect: Asked, history: Sequence[TrialView]) -> CanaryAnswer | None:
        """Run the best settings that have worked; None when that was interrupted."""
        best = max(
            (trial for trial in history if trial.worked), key=lambda trial: trial.value or 0.0, default=None
        )
        if best is None:
            return "nothing has worked yet"
        why = (
            f"trial {suspect.number} may have failed for the machine's sake; do the best settings still run?"
        )
        self._journal.notice(why, trial=suspect.number)
        canary = self._book.start(Request(best.settings, "canary", why, replicate_of=best.number))
        outcome = self._run(canary)
        if isinstance(outcome, Interrupted):
            self._book.finish(canary, outcome)
            return None
        if isinstance(outcome, SettingsFailed):
            blamed = outcome.failure.model_copy(update={"at_fault": "environment"})
            outcome = failed(blamed, **without_failure(outcome))
        self._book.finish(canary, outcome)
        return "passed" if isinstance(outcome, Completed | Stopped) else "failed"


def _suspect(asked: Asked, failure: Failure, history: Sequence[TrialView]) -> Suspect:
    has_worked = any(trial.worked and trial.asked == asked.key for trial in history)
    return Suspect(
        number=asked.number,
        failure=failure,
        unexpected=is_unexpected(asked.p_boots, has_worked),
        unexpected_before=_unexpected_row(history),
    )


def _unexpected_row(history: Sequence[TrialView]) -> tuple[int, ...]:
    """The trials just before that failed against expectation without a gap, oldest first."""
    row: list[int] = []
    for trial in reversed([trial for trial in history if trial.state.is_finished()]):
        if trial.interrupted or trial.role == "canary":
            continue
        worked_before = any(past.worked and past.asked == trial.asked for past in history)
        if trial.failure is None or not is_unexpected(trial.p_boots, worked_before):
            break
        row.append(trial.number)
    return tuple(reversed(row))


def without_failure(outcome: SettingsFailed | EnvironmentFailed) -> dict[str, Any]:
    return {name: getattr(outcome, name) for name in type(outcome).model_fields if name != "failure"}
