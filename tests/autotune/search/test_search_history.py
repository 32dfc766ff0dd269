"""Reading trials: what counts, what is pending, what is ignored."""

from __future__ import annotations

from typing import Any

import optuna
from optuna.study import Study
from optuna.trial import TrialState, create_trial

from autotune.search.history import PASSED_ALL, STAGES, read_history
from tests.autotune.search.search_cases import PLAIN, SPACE, failure


def _study(*trials: tuple[TrialState, float | None, dict[str, Any]]) -> Study:
    study = optuna.create_study(direction="maximize")
    for at, (state, value, attributes) in enumerate(trials):
        settings = {**PLAIN, "mem_fraction_static": 0.80 + 0.01 * at}
        distributions = {name: SPACE.distributions[name] for name in settings}
        intermediate = attributes.pop("seen", {})
        study.add_trial(
            create_trial(
                state=state,
                value=value,
                params=settings,
                distributions=distributions,
                user_attrs=attributes,
                intermediate_values=intermediate,
            )
        )
    return study


def test_each_state_is_read_as_what_it_means() -> None:
    study = _study(
        (TrialState.COMPLETE, 90.0, {}),
        (TrialState.PRUNED, None, {"failure": failure("oom_graph_capture", "graph_capture")}),
        (TrialState.PRUNED, None, {"seen": {1: 40.0, 2: 42.0}}),
        (TrialState.PRUNED, None, {}),
        (TrialState.FAIL, None, {"failure": failure("environment", "start")}),
        (TrialState.RUNNING, None, {}),
    )
    seen = {one.number: one for one in read_history(study, SPACE).observations}
    assert [seen[number].ending for number in (0, 1, 2, 3, 5)] == [
        "good",
        "crash",
        "stopped",
        "crash",
        "pending",
    ]
    assert 4 not in seen
    assert seen[2].value == 42.0
    assert seen[3].failure is not None
    assert seen[3].failure.kind == "unknown"
    assert seen[0].passed == PASSED_ALL
    assert seen[1].passed == STAGES.index("graph_capture")


def test_suspects_and_environment_failures_are_ignored() -> None:
    blamed = {**failure("unknown", "start"), "at_fault": "environment"}
    study = _study((TrialState.COMPLETE, 90.0, {}), (TrialState.PRUNED, None, {"failure": blamed}))
    study.set_user_attr("suspects", [0])
    history = read_history(study, SPACE)
    assert history.observations == ()
    assert len(history.taken) == 1


def test_what_ran_counts_instead_of_what_was_asked() -> None:
    study = _study((TrialState.COMPLETE, 90.0, {"ran": {"all_reduce": "torch_symm_mem"}}))
    history = read_history(study, SPACE)
    assert history.observations[0].settings["all_reduce"] == "torch_symm_mem"
    asked = {**PLAIN, "mem_fraction_static": 0.80}
    assert set(history.taken) == {
        SPACE.canonical(asked),
        SPACE.canonical({**asked, "all_reduce": "torch_symm_mem"}),
    }
    assert history.replaced == {("all_reduce", "nccl"): "torch_symm_mem"}


def test_scores_grow_with_quality_in_both_directions() -> None:
    study = _study((TrialState.COMPLETE, 90.0, {}), (TrialState.COMPLETE, 100.0, {}))
    low, high = (one.score for one in read_history(study, SPACE).observations)
    assert low is not None
    assert high is not None
    assert low < high
    history = read_history(study, SPACE)
    assert abs(history.value_of(high) - 100.0) < 1e-9
    shrinking = optuna.create_study(direction="minimize")
    shrinking.add_trials(study.get_trials())
    history = read_history(shrinking, SPACE)
    first, second = (one.score for one in history.observations)
    assert first is not None
    assert second is not None
    assert first > second
    assert abs(history.value_of(first) - 90.0) < 1e-9
