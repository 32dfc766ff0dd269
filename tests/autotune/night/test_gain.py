"""The night ends early only when the sampler itself expects next to nothing of the next boots."""

from __future__ import annotations

import pytest

from autotune.night.gain import LOOKS, enough
from autotune.trial_view import TrialView
from tests.autotune.night.views import settings_failed, worked


def _searched(
    expected: tuple[float, float] | None, count: int, first: int = 1, p_boots: float = 1.0
) -> list[TrialView]:
    return [
        worked(number, 90.0, expected=expected, p_boots=p_boots) for number in range(first, first + count)
    ]


@pytest.mark.parametrize(
    ("expected", "is_enough"),
    [
        ((60.0, 90.0), True),
        ((99.0, 100.0), True),
        ((80.0, 104.0), False),
        ((80.0, 120.0), False),
        ((101.0, 101.0), False),
        ((100.05, 100.05), True),
    ],
)
def test_by_what_the_last_proposals_promise(expected: tuple[float, float], is_enough: bool) -> None:
    reason = enough([worked(0, 100.0), *_searched(expected, LOOKS)])
    assert (reason is not None) is is_enough


def test_too_few_proposals_say_nothing() -> None:
    assert enough([worked(0, 100.0), *_searched((60.0, 90.0), LOOKS - 1)]) is None


def test_one_promising_proposal_keeps_the_night_going() -> None:
    history = [worked(0, 100.0), *_searched((60.0, 90.0), LOOKS), *_searched((80.0, 130.0), 1, LOOKS + 1)]
    assert enough(history) is None


def test_what_was_repeated_or_wished_for_promises_nothing_and_hides_nothing() -> None:
    history = [
        worked(0, 100.0),
        *_searched((60.0, 90.0), LOOKS),
        *_searched(None, 3, LOOKS + 1),
        settings_failed(LOOKS + 4),
    ]
    assert enough(history) is not None


def test_what_will_hardly_boot_promises_little() -> None:
    likely = [worked(0, 100.0), *_searched((90.0, 112.0), LOOKS, p_boots=1.0)]
    unlikely = [worked(0, 100.0), *_searched((90.0, 112.0), LOOKS, p_boots=0.01)]
    assert enough(likely) is None
    assert enough(unlikely) is not None


def test_nothing_is_enough_before_anything_has_worked() -> None:
    history = [settings_failed(number, expected=(60.0, 90.0)) for number in range(LOOKS + 2)]
    assert enough(history) is None


def test_the_sentence_says_how_to_go_on() -> None:
    reason = enough([worked(0, 100.0), *_searched((60.0, 90.0), LOOKS)])
    assert reason is not None
    assert "stop_when_done = false" in reason
    assert f"the last {LOOKS} promised 0.00% more" in reason
