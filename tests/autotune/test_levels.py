from __future__ import annotations

from autotune.levels import by_level, winner_changes
from tests.autotune.test_verdict import final_levels, trial
from trials.settings import Limits

SEARCH = (
    trial(0, "mine", 80.0, 300.0, role="baseline"),
    trial(1, "quick", 120.0, 310.0),
    trial(2, "broad", 90.0, 500.0),
    trial(3, "third", 110.0, 320.0),
)


def finals(*keys: str) -> list:  # type: ignore[type-arg]
    tok_s = {"mine": (80.0, 300.0), "quick": (119.0, 312.0), "broad": (90.0, 495.0), "third": (109.0, 318.0)}
    return [final_levels(10 + number, key, *tok_s[key]) for number, key in enumerate([*keys, *keys, *keys])]


def test_each_level_has_its_winner_and_the_change_is_named() -> None:
    verdicts = by_level(SEARCH, (1, 8), Limits())
    assert [verdict.best for verdict in verdicts] == [1, 2]
    assert winner_changes(verdicts) == ("From 8 streams on trial 2 is better than trial 1.",)


def test_one_winner_everywhere_changes_nowhere() -> None:
    assert winner_changes(by_level(SEARCH[:2], (1, 8), Limits())) == ()


def test_finals_confirm_a_level_only_if_its_leader_was_in_them() -> None:
    main, many = by_level([*SEARCH, *finals("quick", "third", "mine")], (1, 8), Limits())
    assert (main.best, main.confirmed) == (1, True)
    assert (many.best, many.confirmed) == (2, False)
    main, many = by_level([*SEARCH, *finals("quick", "broad", "mine")], (1, 8), Limits())
    assert (main.best, main.confirmed) == (1, True)
    assert (many.best, many.confirmed) == (2, True)
