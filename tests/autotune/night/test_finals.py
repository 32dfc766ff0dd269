"""Which boot comes next in the finals, from plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from optuna.trial import TrialState

from autotune.night.finals import Finals
from autotune.trial_view import TrialView
from tests.autotune.test_verdict import failed, final, measured, trial
from trials.outcome import Measurement
from trials.settings import Limits

FINALS = Finals(level=1, limits=Limits(), seed=1)
SEARCH = (
    trial(0, "mine", 80.0, role="baseline"),
    *(trial(number, key, tok_s) for number, (key, tok_s) in enumerate({"a": 100.0, "b": 99.0}.items(), 1)),
    *(trial(3, "c", 98.0), trial(4, "d", 97.0)),
)


def play(history: tuple[TrialView, ...], tok_s: dict[str, float], boots: int = 12) -> list[str]:
    """Run all finals; a throughput of 0 fails. Returns the keys in order."""
    trials, keys = list(history), {view.number: view.key for view in history}
    order: list[str] = []
    while (request := FINALS.next(trials, boots)) is not None:
        assert request.role == "final"
        key = str(keys[request.replicate_of or 0])
        order.append(key)
        number = len(trials)
        trials.append(final(number, key, tok_s[key]) if tok_s[key] else failed(number, key, role="final"))
    return order


def test_top_three_and_the_baseline_boot_three_times_each_in_rounds() -> None:
    order = play(SEARCH, {"mine": 80.0, "a": 100.0, "b": 99.5, "c": 100.2})
    assert Counter(order) == {"mine": 3, "a": 3, "b": 3, "c": 3}
    rounds = [order[start : start + 4] for start in (0, 4, 8)]
    assert all(len(set(turn)) == 4 for turn in rounds)
    assert len({tuple(turn) for turn in rounds}) > 1


def test_nine_boots_take_the_top_two_and_the_baseline() -> None:
    assert Counter(play(SEARCH, {"mine": 80.0, "a": 100.0, "b": 99.5}, boots=9)) == {
        "mine": 3,
        "a": 3,
        "b": 3,
    }


def test_a_clear_loser_stops_after_two_rounds_but_the_baseline_never() -> None:
    order = play(SEARCH, {"mine": 70.0, "a": 100.0, "b": 99.5, "c": 80.0})
    assert Counter(order[:11]) == {"mine": 3, "a": 3, "b": 3, "c": 2}


def test_settings_that_fail_a_final_are_not_booted_again() -> None:
    order = play(SEARCH, {"mine": 80.0, "a": 0.0, "b": 99.5, "c": 98.0})
    assert Counter(order) == {"mine": 4, "a": 1, "b": 4, "c": 3}


def test_what_losers_save_goes_to_the_baseline_and_the_leader_in_turn() -> None:
    order = play(SEARCH, {"mine": 80.0, "a": 0.0, "b": 99.0, "c": 0.0})
    assert Counter(order) == {"mine": 5, "a": 1, "b": 5, "c": 1}
    assert order[8:] == ["mine", "b", "mine", "b"]


def test_boots_that_make_no_whole_round_are_not_lost() -> None:
    order = play(SEARCH, {"mine": 80.0, "a": 100.0, "b": 99.5, "c": 100.2}, boots=14)
    assert Counter(order) == {"mine": 4, "a": 3, "b": 3, "c": 4}


def test_without_a_rival_nothing_is_left_to_decide() -> None:
    order = play(SEARCH, {"mine": 80.0, "a": 0.0, "b": 0.0, "c": 0.0})
    assert Counter(order) == {"mine": 3, "a": 1, "b": 1, "c": 1}


def test_without_a_baseline_the_leader_and_the_runner_up_share_what_is_left() -> None:
    order = play(SEARCH[1:], {"a": 100.0, "b": 0.0, "c": 99.5}, boots=12)
    assert Counter(order) == {"a": 6, "b": 1, "c": 5}


def test_the_leader_keeps_the_limits() -> None:
    limited = Finals(level=1, limits=Limits(max_ttft_p95_ms=4000), seed=1)
    trials = list(SEARCH)
    while (request := limited.next(trials, 14)) is not None:
        late = request.replicate_of == 1
        number, key = len(trials), SEARCH[request.replicate_of or 0].key
        trials.append(
            replace(
                final(number, str(key), 100.0),
                measurements=(measured(100.0 + late, ttft_ms=9000.0 if late else 50.0),),
            )
        )
    boots = Counter(trial.key for trial in trials if trial.role == "final")
    assert boots["a"] == 3
    assert boots["mine"] == 4


def test_a_canary_between_the_finals_changes_no_contender() -> None:
    begun = (*SEARCH, final(5, "a", 100.0), trial(6, "d", 130.0, role="canary"))
    assert "d" not in play(begun, {"mine": 80.0, "a": 100.0, "b": 99.5, "c": 98.0})


def test_a_pinned_trial_takes_the_baselines_place() -> None:
    pinned = Finals(level=1, limits=Limits(), seed=1, pinned=lambda: 4)
    trials, booted = list(SEARCH), set()
    while (request := pinned.next(trials, 12)) is not None:
        key = SEARCH[request.replicate_of or 0].key
        booted.add(key)
        trials.append(final(len(trials), str(key), 90.0))
    assert booted == {"a", "b", "c", "d"}


def test_contenders_keep_the_limits() -> None:
    def slow_start(number: int) -> TrialView:
        late: tuple[Measurement, ...] = (measured(120.0, ttft_ms=9000.0),)
        return TrialView(number, TrialState.COMPLETE, {}, "late", "late", value=120.0, measurements=late)

    limited = Finals(level=1, limits=Limits(max_ttft_p95_ms=4000), seed=1)
    request = limited.next([*SEARCH, slow_start(5)], 12)
    assert request is not None
    assert request.replicate_of in (0, 1, 2, 3)
