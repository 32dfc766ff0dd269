"""From an outcome to what is told: whose fault it is when the canary has answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from autotune.night.asking import Asked, Request
from autotune.night.settling import Settled, Settling
from autotune.trial_view import TrialView
from tests.autotune.night.nights import completed, environment_failed, settings_failed
from tests.autotune.night.views import interrupted, worked
from tests.autotune.night.views import settings_failed as failed_view
from trials.outcome import AnyOutcome, EnvironmentFailed, FailureKind, Interrupted, SettingsFailed, Stopped


@dataclass
class Book:
    """Keeps what is told; the next canary gets number 100."""

    told: list[tuple[int, AnyOutcome]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    suspects: list[int] = field(default_factory=list)

    def start(self, request: Request) -> Asked:
        self.requests.append(request)
        return Asked(100, 100, request.role, request.settings, key="best", replicate_of=request.replicate_of)

    def finish(self, asked: Asked, outcome: AnyOutcome) -> None:
        self.told.append((asked.number, outcome))

    def suspect(self, numbers: Iterable[int]) -> None:
        self.suspects += numbers


class Notices:
    """A journal that only hears notices."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def notice(self, text: str, level: str = "info", trial: int | None = None) -> None:
        self.texts.append(text)


_HISTORY = [worked(0, 70.0, settings={"a": 0}), worked(1, 90.0, settings={"a": 1}), worked(2, 80.0)]


def _asked(number: int = 9, p_boots: float | None = None, role: str = "search") -> Asked:
    proposal = {"p_boots": p_boots}
    return Asked(number, number, role, {"a": 9}, key="nine", proposal=proposal)  # type: ignore[arg-type]


def _settle(
    outcome: AnyOutcome,
    canary: AnyOutcome | None = None,
    history: list[TrialView] | None = None,
    asked: Asked | None = None,
) -> tuple[Settled, Book]:
    """Settle one outcome; a canary that is not expected fails the test."""
    book = Book()

    def run(asked: Asked) -> AnyOutcome:
        assert canary is not None, "no canary was called for"
        return canary

    settling = Settling(book, Notices(), run)  # type: ignore[arg-type]
    settled = settling.settle(asked or _asked(), outcome, _HISTORY if history is None else history)
    return settled, book


@pytest.mark.parametrize(
    "outcome",
    [
        completed(80.0),
        Stopped(),
        Interrupted(),
        settings_failed(FailureKind.OOM_KV_POOL),
        environment_failed(),
    ],
)
def test_plain_outcomes_are_told_as_they_are(outcome: AnyOutcome) -> None:
    settled, book = _settle(outcome)
    assert settled == Settled(outcome)
    assert book.told == [(9, outcome)]


def test_the_canary_is_the_best_that_worked_and_is_told_first() -> None:
    _, book = _settle(settings_failed(FailureKind.UNKNOWN), completed(88.0))
    [request] = book.requests
    assert (request.role, request.settings, request.replicate_of) == ("canary", {"a": 1}, 1)
    assert [number for number, _ in book.told] == [100, 9]


def test_a_canary_that_passes_leaves_the_blame_with_the_settings() -> None:
    settled, book = _settle(settings_failed(FailureKind.UNKNOWN), completed(88.0))
    assert isinstance(settled.outcome, SettingsFailed)
    assert settled.outcome.failure.at_fault == "settings"
    assert settled.end_night is None
    assert book.suspects == []


def test_a_canary_that_fails_ends_the_night_and_clears_the_settings() -> None:
    settled, book = _settle(settings_failed(FailureKind.HANG), settings_failed(FailureKind.HANG))
    (_, canary), (_, told) = book.told
    assert isinstance(canary, EnvironmentFailed)
    assert isinstance(told, EnvironmentFailed)
    assert told.failure.kind is FailureKind.HANG
    assert settled.end_night is not None
    assert book.suspects == [9]


def test_an_interrupted_canary_leaves_the_question_open() -> None:
    settled, book = _settle(settings_failed(FailureKind.UNKNOWN), Interrupted())
    assert isinstance(settled.outcome, Interrupted)
    assert [type(outcome) for _, outcome in book.told] == [Interrupted, Interrupted]
    assert book.suspects == []


def test_without_anything_that_worked_there_is_no_canary() -> None:
    settled, book = _settle(settings_failed(FailureKind.UNKNOWN), history=[failed_view(0)])
    assert isinstance(settled.outcome, EnvironmentFailed)
    assert book.requests == []
    hang, _ = _settle(settings_failed(FailureKind.HANG), history=[failed_view(0)])
    assert isinstance(hang.outcome, SettingsFailed)


def test_the_third_surprise_in_a_row_is_doubted_together_with_the_two_before() -> None:
    history = [
        *_HISTORY,
        failed_view(3, p_boots=0.9),
        interrupted(4),
        worked(5, role="canary"),
        failed_view(6, p_boots=0.8),
    ]
    asked = _asked(p_boots=0.7)
    settled, book = _settle(
        settings_failed(FailureKind.OOM_RUNTIME), settings_failed(FailureKind.OOM_RUNTIME), history, asked
    )
    assert settled.end_night is not None
    assert book.suspects == [3, 6, 9]


def test_a_failure_that_was_expected_breaks_the_row() -> None:
    history = [
        *_HISTORY,
        failed_view(3, p_boots=0.9),
        failed_view(4, p_boots=0.1),
        failed_view(5, p_boots=0.8),
    ]
    outcome = settings_failed(FailureKind.OOM_RUNTIME)
    settled, _ = _settle(outcome, history=history, asked=_asked(p_boots=0.7))
    assert settled == Settled(outcome)


def test_a_failed_canary_calls_for_no_canary_of_its_own() -> None:
    outcome = settings_failed(FailureKind.HANG)
    settled, _ = _settle(outcome, asked=_asked(role="canary"))
    assert settled == Settled(outcome)


def test_what_a_stop_left_behind_ends_the_night_whatever_the_outcome() -> None:
    left = completed(80.0).model_copy(update={"stop_proven": False, "left_behind": "GPU 3 holds 40 GiB"})
    settled, book = _settle(left)
    assert settled.end_night == "GPU 3 holds 40 GiB"
    assert book.told == [(9, left)]
