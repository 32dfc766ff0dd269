"""The sampler as anyone would use it: in plain Optuna studies, with and without a space."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution
from optuna.trial import Trial, TrialState, create_trial

from autotune.search import CrashAwareSampler, SearchSpace, Settings, SpaceError, SpaceUsedUpError
from autotune.search.priors import remember
from tests.autotune.search.search_cases import PLAIN, SPACE, drive, failure, new_study, speed

SMALL = SearchSpace.from_dict({"cuda_graph_max_bs": [16, 64], "all_reduce": ["nccl", "pcie_ipc", "mscclpp"]})


def _mined(settings: Settings) -> dict[str, Any] | None:
    if settings["flag.attention-backend"] == "fa3":
        return failure("unsupported_kernel", "warm_up")
    if settings["mem_fraction_static"] < 0.78:
        remedy = {"setting": "mem_fraction_static", "direction": "raise", "bound": 0.78}
        return failure("kv_pool_too_small", "kv_pool", **remedy)
    return None


@pytest.mark.slow
def test_it_finds_the_best_settings_and_never_repeats_itself() -> None:
    study = new_study(CrashAwareSampler(SPACE, seed=1))
    booted = drive(study, SPACE, 18, _mined)
    replicates = [trial for trial in study.trials if "replicate_of" in trial.user_attrs]
    assert len({SPACE.canonical(settings) for settings in booted}) == len(booted) - len(replicates)
    assert study.best_value >= 200.0


def test_the_same_seed_and_history_give_the_same_proposals() -> None:
    runs = [drive(new_study(CrashAwareSampler(SPACE, seed=5)), SPACE, 5, _mined) for _ in range(2)]
    assert runs[0] == runs[1]


def test_state_is_read_from_the_study_so_a_restart_changes_nothing() -> None:
    whole = new_study(CrashAwareSampler(SPACE, seed=5))
    straight = drive(whole, SPACE, 5, _mined)
    broken = new_study(CrashAwareSampler(SPACE, seed=5))
    first = drive(broken, SPACE, 3, _mined)
    broken.sampler = CrashAwareSampler(SPACE, seed=5)
    assert first + drive(broken, SPACE, 2, _mined) == straight


def test_forbidden_combinations_are_never_proposed() -> None:
    def forbidden(settings: Settings) -> str | None:
        return "no" if settings["all_reduce"] == "pcie_ipc" or settings["layout"] == "tp8-ep8" else None

    study = new_study(CrashAwareSampler(SPACE, seed=2, forbidden=forbidden))
    assert all(forbidden(settings) is None for settings in drive(study, SPACE, 8))


def test_a_used_up_space_ends_the_study_with_a_sentence() -> None:
    study = new_study(CrashAwareSampler(SMALL, seed=0))

    def objective(trial: Trial) -> float:
        return 1.0 + float(SMALL.suggest(trial)["cuda_graph_max_bs"])

    with pytest.raises(SpaceUsedUpError, match="every combination of the space has been tried"):
        study.optimize(objective, n_trials=20)
    done = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
    assert len({SMALL.canonical(trial.params) for trial in done}) == 6
    assert not [trial for trial in study.trials if trial.state == TrialState.RUNNING]


def test_objectives_may_ask_for_parameters_themselves() -> None:
    def objective(trial: Trial) -> float:
        reduce = trial.suggest_categorical("all_reduce", ["nccl", "pcie_ipc", "mscclpp"])
        return (
            2.0
            if reduce == "pcie_ipc"
            else float(trial.suggest_categorical("cuda_graph_max_bs", [16, 64])) / 64
        )

    study = new_study(CrashAwareSampler(SMALL, seed=0))
    study.optimize(objective, n_trials=4)
    assert study.best_value == 2.0


def test_minimising_looks_for_small_values() -> None:
    study = new_study(CrashAwareSampler(SPACE, seed=3), "minimize")
    for _ in range(14):
        trial = study.ask()
        study.tell(trial, 1e4 / speed(SPACE.suggest(trial)))
    assert study.best_value < 1e4 / 190.0


def test_without_a_space_the_first_trial_is_random_and_the_rest_inferred() -> None:
    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", -4.0, 4.0)
        return (x - 1.0) ** 2 + (0.0 if trial.suggest_categorical("kind", ["a", "b"]) == "b" else 3.0)

    study = new_study(CrashAwareSampler(seed=0), "minimize")
    study.optimize(objective, n_trials=16)
    assert study.best_value < 0.5
    assert "proposal" not in study.trials[0].user_attrs
    assert "proposal" in study.trials[1].user_attrs


def test_plain_crashes_without_a_failure_attribute_are_learned_from() -> None:
    def objective(trial: Trial) -> float:
        settings = SMALL.suggest(trial)
        if settings["all_reduce"] == "mscclpp":
            raise optuna.TrialPruned
        return 1.0

    study = new_study(CrashAwareSampler(SMALL, seed=0))
    with pytest.raises(SpaceUsedUpError):
        study.optimize(objective, n_trials=10)
    pruned = [trial for trial in study.trials if trial.state == TrialState.PRUNED]
    assert pruned[-1].user_attrs["proposal"]["p_boots"] < 0.5


def test_a_range_that_differs_raises_instead_of_falling_back() -> None:
    study = new_study(CrashAwareSampler(SMALL, seed=0))
    with pytest.raises(SpaceError, match="chunked_prefill_size, which this space lacks"):
        study.optimize(lambda trial: float(trial.suggest_int("chunked_prefill_size", 1, 9)), n_trials=1)
    other = new_study(CrashAwareSampler(SPACE, seed=0))
    with pytest.raises(SpaceError, match="speculative_num_steps was 1 to 6"):
        other.optimize(lambda trial: float(trial.suggest_int("speculative_num_steps", 1, 6)), n_trials=1)


def test_a_study_drawn_from_another_space_is_refused_before_anything_boots() -> None:
    study = new_study(CrashAwareSampler(SMALL, seed=0))
    old = {"all_reduce": CategoricalDistribution(["nccl", "custom"])}
    study.add_trial(create_trial(value=1.0, params={"all_reduce": "nccl"}, distributions=old))
    with pytest.raises(SpaceError, match="all_reduce was one of nccl, custom in this study"):
        SMALL.suggest(study.ask())


def test_running_trials_are_not_proposed_again() -> None:
    study = new_study(CrashAwareSampler(SMALL, seed=0))
    asked = [SMALL.suggest(study.ask()) for _ in range(6)]
    assert len({SMALL.canonical(settings) for settings in asked}) == 6


def test_failed_trials_leave_their_settings_free_and_teach_nothing() -> None:
    study = new_study(CrashAwareSampler(SMALL, seed=0))
    first = study.ask()
    settings = SMALL.suggest(first)
    first.set_user_attr("failure", failure("unsupported_kernel", "warm_up"))
    study.tell(first, state=TrialState.FAIL)
    untouched = new_study(CrashAwareSampler(SMALL, seed=0))
    before = untouched.ask()
    SMALL.suggest(before)
    again = study.ask()
    SMALL.suggest(again)
    assert again.user_attrs["proposal"]["p_boots"] == before.user_attrs["proposal"]["p_boots"]
    tried = [SMALL.suggest(study.ask()) for _ in range(5)]
    assert settings in [*tried, again.params]


def test_the_enqueued_are_taken_as_they_are() -> None:
    study = new_study(CrashAwareSampler(SPACE, seed=0))
    study.enqueue_trial(PLAIN)
    assert SPACE.suggest(study.ask()) == PLAIN


def test_known_good_settings_come_first_and_must_lie_in_the_space() -> None:
    study = new_study(CrashAwareSampler(SPACE, seed=0, known_good=[PLAIN]))
    trial = study.ask()
    assert SPACE.suggest(trial) == PLAIN
    assert trial.user_attrs["proposal"]["why"] == "Known good, number 1 of 1: tried first."
    study.tell(trial, 100.0)
    assert SPACE.suggest(study.ask()) != PLAIN
    with pytest.raises(SpaceError, match=r"\[\[known_good\]\] 1: layout = 'tp2'"):
        CrashAwareSampler(SPACE, known_good=[{**PLAIN, "layout": "tp2"}])


def test_a_proposal_explains_itself_and_agrees_with_the_trials() -> None:
    study = new_study(CrashAwareSampler(SPACE, seed=4, unit="simulated tok/s"))
    drive(study, SPACE, 6)
    last = study.trials[-1]
    proposal = last.user_attrs["proposal"]
    parent = SPACE.active(study.trials[proposal["parent"]].params)
    now = SPACE.active(last.params)
    for name, (old, new) in proposal["changes"].items():
        assert parent.get(name) == old
        assert now.get(name) == new
        assert name in proposal["why"]
    unchanged = parent.keys() & now.keys() - proposal["changes"].keys()
    assert all(parent[name] == now[name] for name in unchanged)
    assert f"trial {proposal['parent']}" in proposal["why"]
    assert 0.0 <= proposal["p_boots"] <= 1.0
    low, high = proposal["expected"]
    assert low <= high
    assert f"{low:.4g} to {high:.4g} simulated tok/s expected" in proposal["why"]


def test_provably_dead_settings_are_never_booted() -> None:
    """A log has printed the least fraction for each kind of weights: nothing below it boots again."""
    study = new_study(CrashAwareSampler(SPACE, seed=6))
    booted = drive(study, SPACE, 16, _mined)
    groups = set()
    for settings in booted:
        group = (settings["layout"], settings["speculative_algorithm"], settings["all_reduce"])
        low = settings["mem_fraction_static"] < 0.78
        assert not (low and group in groups)
        if low:
            groups.add(group)


def test_boots_that_the_pre_flight_saves_are_counted_once() -> None:
    study = new_study(CrashAwareSampler(SPACE, seed=0))
    dead = {"settings": {**PLAIN, "mem_fraction_static": 0.7}, "proof": "too low"}
    for _ in range(2):
        study.add_trial(create_trial(value=1.0, user_attrs={"proposal": {"ruled_out": [dead]}}))
    sampler = study.sampler
    assert isinstance(sampler, CrashAwareSampler)
    assert sampler.preflight_saved(study) == 1


@pytest.mark.slow
def test_replicates_are_on_purpose_and_say_so() -> None:
    study = new_study(CrashAwareSampler(SPACE, seed=8))
    drive(study, SPACE, 22)
    repeated = [trial for trial in study.trials if "replicate_of" in trial.user_attrs]
    assert repeated
    for trial in repeated:
        original = study.trials[trial.user_attrs["replicate_of"]]
        assert SPACE.canonical(original.params) == SPACE.canonical(trial.params)


def test_values_that_the_server_replaces_are_not_asked_for_again() -> None:
    study = new_study(CrashAwareSampler(SMALL, seed=0))
    for _ in range(4):
        trial = study.ask()
        settings = SMALL.suggest(trial)
        if settings["all_reduce"] == "mscclpp":
            trial.set_user_attr("ran", {"all_reduce": "nccl"})
        study.tell(trial, 1.0)
    asked = [trial.params["all_reduce"] for trial in study.trials]
    assert asked.count("mscclpp") <= 1


@pytest.mark.slow
def test_an_upside_down_prior_does_not_hurt_after_fifteen_boots() -> None:
    """Weak knowledge from elsewhere that praises what is slow here is outvoted by fifteen boots."""
    reached = {}
    for upside_down in (False, True):
        study = new_study(CrashAwareSampler(SPACE, seed=9))
        for reduce in ("nccl", "pcie_ipc", "torch_symm_mem") if upside_down else ():
            for layout in ("tp8", "tp8-ep8", "tp8-adp2"):
                settings = {**PLAIN, "all_reduce": reduce, "layout": layout}
                remember(study, settings, same=False, value=1e4 / speed(settings))
        drive(study, SPACE, 15)
        reached[upside_down] = study.best_value
    assert reached[True] >= 0.9 * reached[False]


def test_knowledge_of_the_same_machine_is_taken_as_data() -> None:
    study = new_study(CrashAwareSampler(SPACE, seed=0))
    remember(study, PLAIN, same=True, value=100.0)
    remember(
        study,
        {**PLAIN, "flag.attention-backend": "fa3"},
        same=True,
        failure=failure(
            "unsupported_kernel", "warm_up", setting="flag.attention-backend", direction="change"
        ),
    )
    trial = study.ask()
    settings = SPACE.suggest(trial)
    assert settings["flag.attention-backend"] != "fa3"
    assert "From an earlier study (100)" in trial.user_attrs["proposal"]["why"]
