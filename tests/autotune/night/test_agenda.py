"""What is run before the sampler is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from autotune.night.agenda import Agenda, Wish
from autotune.night.asking import Request
from autotune.trial_view import TrialView
from tests.autotune.night.views import interrupted, machine_failed, running, settings_failed, worked

_MINE, _GOOD, _OTHER = {"a": 1}, {"a": 2}, {"a": 3}


def _key(settings: Mapping[str, Any]) -> object:
    return settings.get("a")


def _agenda(first: int = 0) -> Agenda:
    return Agenda(_MINE, [_GOOD], _key, lambda settings: "a" in settings, first)


def _mine(view: Any, number: int, **more: Any) -> TrialView:
    return view(number, role="baseline", settings=_MINE, key=1, **more)  # type: ignore[no-any-return]


def _good(number: int) -> TrialView:
    return worked(number, settings=_GOOD, key=2)


def _what(request: Request | None) -> tuple[object, ...] | None:
    return None if request is None else (request.role, request.settings["a"], request.replicate_of)


@pytest.mark.parametrize(
    ("history", "wanted"),
    [
        ([], ("baseline", 1, None)),
        ([_mine(worked, 0)], ("search", 2, None)),
        ([_mine(worked, 0), _good(1)], None),
        ([_mine(interrupted, 0)], ("baseline", 1, 0)),
        ([_mine(machine_failed, 0)], ("baseline", 1, 0)),
        ([_mine(machine_failed, 0), _mine(machine_failed, 1, replicate_of=0)], ("search", 2, None)),
        ([_mine(settings_failed, 0), _good(1)], None),
        ([_mine(running, 0)], ("search", 2, None)),
    ],
)
def test_baseline_then_repeats_then_known_good(
    history: list[TrialView], wanted: tuple[object, ...] | None
) -> None:
    assert _what(_agenda().next(history, [])) == wanted


@pytest.mark.parametrize(
    ("history", "first", "wanted"),
    [
        ([_mine(machine_failed, 0), _mine(machine_failed, 1, replicate_of=0)], 2, ("baseline", 1, 1)),
        (
            [_mine(machine_failed, 0), _mine(machine_failed, 1, death="killed", replicate_of=0)],
            2,
            ("baseline", 1, 1),
        ),
        ([_mine(machine_failed, 0), _mine(worked, 1, replicate_of=0), _good(2)], 3, None),
        ([_mine(settings_failed, 0), _good(1)], 2, None),
    ],
)
def test_a_later_run_gives_the_baseline_another_chance_where_the_machine_was_to_blame(
    history: list[TrialView], first: int, wanted: tuple[object, ...] | None
) -> None:
    assert _what(_agenda(first).next(history, [])) == wanted


def test_but_only_one_in_each_run() -> None:
    row = [_mine(machine_failed, number, replicate_of=number - 1 if number else None) for number in (0, 1, 2)]
    assert _what(_agenda(2).next([*row, _good(3)], [])) is None


def test_a_dead_trial_that_was_told_as_failed_is_not_repeated() -> None:
    history = [_mine(worked, 0), _good(1), machine_failed(2, settings=_OTHER, key=3, death="reboot")]
    assert _agenda().next(history, []) is None


def test_a_trial_that_died_while_it_was_drawn_is_not_repeated() -> None:
    history = [_mine(worked, 0), _good(1), interrupted(2, settings={})]
    assert _agenda().next(history, []) is None


def test_wishes_come_last_and_one_at_a_time() -> None:
    wishes = [Wish(7, _OTHER), Wish(8, {"a": 4})]
    assert _what(_agenda().next([_mine(worked, 0)], wishes)) == ("search", 2, None)
    request = _agenda().next([_mine(worked, 0), _good(1)], wishes)
    assert request is not None
    assert (request.settings, request.wish) == (_OTHER, 7)
