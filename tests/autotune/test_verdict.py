from __future__ import annotations

from typing import Any

import pytest
from optuna.trial import TrialState

from autotune.trial_view import TrialView
from autotune.verdict import Verdict, decide
from trials.outcome import BootReport, Failure, FailureKind, Measurement, Percentiles, Stage
from trials.settings import Limits


def measured(tok_s: float, level: int = 1, ttft_ms: float | None = 100.0) -> Measurement:
    return Measurement(
        level=level,
        running=level,
        decode_tok_s=tok_s,
        decode_tok_s_ci95=(tok_s * 0.995, tok_s * 1.005),
        ttft_ms=Percentiles(p95=ttft_ms),
        requests=4,
        output_tokens=100,
        seconds=1.0,
        stopped_by="precision",
    )


def trial(number: int, key: str, *tok_s: float, role: str = "search", **more: Any) -> TrialView:
    """A completed trial with one throughput per level 1, 8, ... given."""
    levels = (1, 8)[: len(tok_s)]
    measurements = tuple(measured(value, level) for value, level in zip(tok_s, levels, strict=True))
    facts = {"measurements": measurements, "asked": key, "value": tok_s[0], **more}
    return TrialView(number, TrialState.COMPLETE, {}, key, role=role, **facts)


def failed(number: int, key: str, role: str = "search") -> TrialView:
    failure = Failure(
        kind=FailureKind.OOM_RUNTIME, stage=Stage.MEASURE, summary="out of memory", at_fault="settings"
    )
    return TrialView(number, TrialState.PRUNED, {}, key, key, role=role, failure=failure)


def judge(*trials: TrialView, level: int = 1, limits: Limits | None = None, **more: Any) -> Verdict:
    return decide(trials, level, limits or Limits(), **more)


def test_the_fastest_wins_with_its_ratio_to_the_baseline() -> None:
    verdict = judge(trial(0, "mine", 80.0, role="baseline"), trial(1, "a", 120.0), trial(2, "b", 100.0))
    assert (verdict.best, verdict.baseline) == (1, 0)
    assert verdict.speed_up == pytest.approx(1.5)
    assert verdict.significant
    assert not verdict.confirmed
    assert verdict.speed_up_ci95 is not None
    low, high = verdict.speed_up_ci95
    assert 1.3 < low < 1.5 < high < 1.7


def test_while_nothing_else_has_worked_nothing_is_said_of_chances() -> None:
    verdict = judge(trial(0, "mine", 80.0, role="baseline"), failed(1, "a"))
    assert verdict.probability_best is None
    assert verdict.sentence.endswith("These are your own settings: nothing else has worked so far.")


def test_replicates_are_pooled_so_that_one_lucky_boot_does_not_win() -> None:
    lucky = [trial(1, "a", 110.0), trial(2, "a", 90.0), trial(3, "a", 91.0)]
    verdict = judge(trial(0, "mine", 80.0, role="baseline"), *lucky, trial(4, "b", 106.0))
    assert verdict.best == 4
    verdict = judge(*lucky)
    assert verdict.replicates == (1, 2, 3)
    assert verdict.throughput is not None
    assert verdict.throughput.boots == 3


def test_more_boots_narrow_the_interval() -> None:
    one = judge(trial(0, "a", 100.0)).throughput
    three = judge(*(trial(number, "a", 100.0) for number in range(3))).throughput
    assert one is not None
    assert three is not None
    assert three.ci95[1] - three.ci95[0] < one.ci95[1] - one.ci95[0]


def test_a_boot_that_was_measured_badly_is_unsure() -> None:
    blurred = measured(100.0).model_copy(update={"decode_tok_s_ci95": (0.0, 200.0)})
    verdict = judge(
        trial(0, "mine", 80.0, role="baseline"),
        TrialView(1, TrialState.COMPLETE, {}, "a", "a", value=100.0, measurements=(blurred,)),
    )
    assert (verdict.best, verdict.significant) == (1, False)


def test_noisy_replicates_make_a_small_gain_insignificant() -> None:
    noisy = [trial(1, "a", 100.0), trial(2, "a", 120.0), trial(3, "a", 80.0)]
    verdict = judge(trial(0, "mine", 93.0, role="baseline"), *noisy)
    assert verdict.significant is False
    assert verdict.sentence.startswith("Trial 1 is the best")
    assert "No significant gain" in verdict.sentence


def test_the_baseline_itself_may_win() -> None:
    verdict = judge(trial(0, "mine", 100.0, role="baseline"), trial(1, "a", 90.0))
    assert verdict.best == verdict.baseline == 0
    assert verdict.speed_up == 1.0
    assert "nothing was faster" in verdict.sentence


def test_a_pinned_trial_is_not_called_the_users_own() -> None:
    trials = (trial(0, "mine", 80.0, role="baseline"), trial(1, "a", 100.0), trial(2, "b", 140.0))
    said = judge(*trials, pinned=1).sentence
    assert "the pinned baseline, trial 1 with 100.0" in said
    assert "your own" not in said
    assert "That is the pinned baseline itself" in judge(*trials, pinned=2).sentence
    assert "your own settings, trial 0" in judge(*trials, pinned=0).sentence


def test_a_leader_of_many_equals_is_given_no_chance_of_nought() -> None:
    crowd = [trial(number, f"s{number}", 100.0 + number / 100) for number in range(1, 60)]
    said = judge(trial(0, "mine", 80.0, role="baseline"), *crowd).sentence
    assert "in a crowd of equals, with less than 5 % probability the best" in said


def test_a_baseline_that_does_not_boot_gives_no_ratio() -> None:
    verdict = judge(failed(0, "mine", role="baseline"), trial(1, "a", 90.0))
    assert (verdict.best, verdict.baseline, verdict.speed_up) == (1, None, None)
    assert "There is no baseline: your own settings did not run (trial 0: out of memory)" in verdict.sentence


def test_a_baseline_repeated_after_a_sick_machine_counts() -> None:
    sick = TrialView(0, TrialState.FAIL, {}, "mine", "mine", role="baseline")
    again = trial(1, "mine", 80.0, role="baseline", replicate_of=0)
    assert judge(sick, again, trial(2, "a", 100.0)).baseline == 1


def test_a_pinned_trial_is_the_baseline() -> None:
    verdict = judge(
        trial(0, "mine", 80.0, role="baseline"), trial(1, "a", 90.0), trial(2, "b", 99.0), pinned=1
    )
    assert verdict.baseline == 1
    assert verdict.speed_up == pytest.approx(1.1, rel=1e-3)


def test_settings_that_were_replaced_count_as_what_ran() -> None:
    replaced = trial(1, "mine", 84.0, asked="custom")
    verdict = judge(trial(0, "mine", 80.0, role="baseline"), replaced)
    assert verdict.best == verdict.baseline == 0
    assert verdict.replicates == (0, 1)


def test_a_winner_keeps_the_limits_and_the_faster_ones_are_named() -> None:
    slow_start = TrialView(
        1, TrialState.COMPLETE, {}, "a", "a", value=120.0, measurements=(measured(120.0, ttft_ms=9000.0),)
    )
    verdict = judge(slow_start, trial(2, "b", 100.0), limits=Limits(max_ttft_p95_ms=4000))
    assert verdict.best == 2
    assert verdict.over_limits == ((1, "9,000 ms to the first token (p95), the limit is at most 4,000"),)


@pytest.mark.parametrize("tokens, best", [(300_000, 0), (100_000, None), (None, None)])
def test_a_limit_on_kv_tokens_asks_the_boot(tokens: int | None, best: int | None) -> None:
    only = trial(0, "a", 100.0, boot=BootReport(kv_tokens=tokens))
    verdict = judge(only, limits=Limits(min_kv_tokens=200_000))
    assert verdict.best == best


def test_accept_length_is_asked_of_speculation_only() -> None:
    limits = Limits(min_accept_length=2.0)
    assert judge(trial(0, "a", 100.0), limits=limits).best == 0
    speculative = TrialView(
        1,
        TrialState.COMPLETE,
        {"speculative_algorithm": "EAGLE3"},
        "s",
        "s",
        measurements=(measured(150.0),),
    )
    assert judge(trial(0, "a", 100.0), speculative, limits=limits).best == 0


def test_each_level_has_its_own_winner() -> None:
    trials = (trial(0, "a", 100.0, 300.0), trial(1, "b", 90.0, 400.0), trial(2, "c", 110.0))
    assert [judge(*trials, level=level).best for level in (1, 8)] == [2, 1]


def test_nothing_yet() -> None:
    verdict = judge()
    assert verdict.best is None
    assert verdict.sentence == (
        "Nothing has worked yet at 1 stream. There is no baseline: your own settings have not been tried yet."
    )


def final(number: int, key: str, tok_s: float) -> TrialView:
    return trial(number, key, tok_s, role="final")


def final_levels(number: int, key: str, *tok_s: float) -> TrialView:
    return trial(number, key, *tok_s, role="final")


SEARCH = (trial(0, "mine", 80.0, role="baseline"), trial(1, "a", 130.0), trial(2, "b", 120.0))
FINALS = (
    *(final(3, "a", 110.0), final(4, "b", 121.0), final(5, "mine", 80.0)),
    *(final(6, "b", 120.0), final(7, "mine", 81.0), final(8, "a", 111.0)),
)


def test_finals_alone_decide() -> None:
    verdict = judge(*SEARCH, *FINALS)
    assert (verdict.best, verdict.confirmed) == (2, True)
    assert verdict.speed_up == pytest.approx(1.5, abs=0.01)
    assert "Not confirmed" not in verdict.sentence


def test_a_baseline_that_was_not_in_the_finals_is_said() -> None:
    assert judge(*SEARCH, *FINALS).baseline_confirmed
    assert "Your own were not" not in judge(*SEARCH, *FINALS).sentence
    later = judge(*SEARCH, trial(9, "c", 100.0), *FINALS, pinned=9)
    assert (later.confirmed, later.baseline_confirmed) == (True, False)
    assert later.sentence.endswith("The baseline was not in them.")


def test_unfinished_finals_do_not_decide() -> None:
    assert not judge(*SEARCH, *FINALS[:4]).confirmed


def test_a_final_that_fails_loses() -> None:
    verdict = judge(*SEARCH, *FINALS, failed(9, "b", role="final"))
    assert (verdict.best, verdict.confirmed) == (1, True)


def test_the_finals_say_how_sure_the_winner_is() -> None:
    clear = judge(*SEARCH, *FINALS)
    assert clear.probability_best is not None
    assert clear.probability_best > 0.99
    assert "with more than 99 % probability the best of those in the finals" in clear.sentence
    close = [final(number, key, 120.0 + number % 3) for number, key in enumerate(["a", "b"] * 3, start=3)]
    unsure = judge(*SEARCH, *close, final(9, "mine", 80.0), final(10, "mine", 81.0))
    assert unsure.probability_best is not None
    assert 0.4 < unsure.probability_best < 0.7


def test_close_finalists_are_pulled_together_and_distant_ones_left_alone() -> None:
    def believed(other: float) -> float:
        boots = [
            *(final(3, "a", other), final(4, "b", 119.0), final(5, "mine", 80.0)),
            *(final(6, "b", 121.0), final(7, "mine", 81.0), final(8, "a", other + 2)),
        ]
        throughput = judge(*SEARCH, *boots).throughput
        assert throughput is not None
        return throughput.tok_s

    assert believed(117.0) < 119.8
    assert believed(80.0) == pytest.approx(120.0, rel=2e-3)


def test_equal_settings_are_no_significant_gain_even_if_one_was_lucky() -> None:
    boots = [
        final(3 + 4 * turn + place, key, tok_s * (1.02 if turn == place % 3 else 0.99))
        for turn in range(3)
        for place, (key, tok_s) in enumerate({"a": 83.0, "b": 80.0, "c": 80.0, "mine": 80.0}.items())
    ]
    verdict = judge(*SEARCH, trial(9, "c", 119.0), *boots)
    assert verdict.best == 1
    assert verdict.significant is False


def test_the_luck_of_an_unconfirmed_leader_is_taken_off() -> None:
    alone = judge(trial(0, "mine", 80.0, role="baseline"), trial(1, "a", 104.0), trial(2, "b", 60.0))
    crowd = [trial(2 + number, f"b{number}", 100.0 + number % 3) for number in range(20)]
    crowded = judge(trial(0, "mine", 80.0, role="baseline"), trial(1, "a", 104.0), *crowd)
    assert alone.throughput is not None
    assert crowded.throughput is not None
    assert alone.throughput.tok_s == pytest.approx(104.0, rel=2e-3)
    assert crowded.throughput.tok_s < 103.0
    assert crowded.measured_tok_s == pytest.approx(104.0)
    assert crowded.probability_best is not None
    assert crowded.probability_best < 0.5
    assert "104.0 was measured, and what leads so many others was probably lucky" in crowded.sentence
    assert "was measured" not in alone.sentence


def test_boots_that_agree_to_the_last_digit_are_still_judged() -> None:
    exact = [
        trial(number, key, tok_s).measurements[0].model_copy(update={"decode_tok_s_ci95": None})
        for number, (key, tok_s) in enumerate({"mine": 80.0, "a": 100.0}.items())
    ]
    boots = [
        TrialView(3 * place + turn, TrialState.COMPLETE, {}, key, key, role=role, measurements=(measurement,))
        for turn in range(3)
        for place, (key, role, measurement) in enumerate(
            [("mine", "baseline", exact[0]), ("a", "search", exact[1])]
        )
    ]
    assert judge(*boots).speed_up == pytest.approx(1.25, rel=1e-3)
    again = [
        TrialView(9 + b.number, b.state, {}, b.key, b.key, "final", measurements=b.measurements)
        for b in boots
    ]
    assert judge(*boots, *again).speed_up == pytest.approx(1.25, rel=1e-3)


def test_a_simulated_number_says_so() -> None:
    verdict = judge(*SEARCH, simulated=True)
    assert "130.0 simulated tok/s" in verdict.sentence
    assert verdict.to_json()["sentence"] == verdict.sentence
