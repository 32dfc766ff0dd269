"""Every outcome becomes the state, value and attributes that other Optuna tools expect."""

from __future__ import annotations

import optuna
import pytest
from optuna.trial import TrialState

from autotune.night.telling import tell, translate
from trials.outcome import (
    AnyOutcome,
    BootReport,
    CommandRecord,
    Completed,
    EnvironmentFailed,
    Failure,
    FailureKind,
    Interrupted,
    Measurement,
    SettingsFailed,
    Stage,
    Stopped,
)


def _measurement(level: int, tok_s: float) -> Measurement:
    return Measurement(
        level=level,
        running=level,
        decode_tok_s=tok_s,
        requests=4,
        output_tokens=400,
        seconds=4.0,
        stopped_by="time",
    )


_FAILURE = Failure(kind=FailureKind.HANG, stage=Stage.KV_POOL, summary="silent", at_fault="settings")
_COMPLETED = Completed(
    measurements=(_measurement(1, 80.0), _measurement(8, 300.0)),
    boot=BootReport(weights_gib=71.2),
    ran={"all_reduce": "nccl"},
    command=CommandRecord(argv=("python", "-m", "sglang.launch_server"), env={"HF_TOKEN": "***"}),
)


@pytest.mark.parametrize(
    ("outcome", "state", "value", "has_failure"),
    [
        (_COMPLETED, TrialState.COMPLETE, 300.0, False),
        (Stopped(measurements=(_measurement(8, 40.0),)), TrialState.PRUNED, None, False),
        (SettingsFailed(failure=_FAILURE), TrialState.PRUNED, None, True),
        (EnvironmentFailed(failure=_FAILURE), TrialState.FAIL, None, True),
        (Interrupted(), TrialState.FAIL, None, False),
    ],
)
def test_state_value_and_failure(
    outcome: AnyOutcome, state: TrialState, value: float | None, has_failure: bool
) -> None:
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(storage=storage, direction="maximize")
    trial = study.ask()
    told = translate(outcome, main_level=8)
    tell(storage, trial._trial_id, told)
    frozen = study.trials[0]
    assert frozen.state is state
    assert frozen.value == value
    assert ("failure" in frozen.user_attrs) is has_failure


def test_stopped_keeps_what_it_saw_as_intermediate_values() -> None:
    told = translate(Stopped(measurements=(_measurement(8, 40.0),)), main_level=8)
    assert told.intermediate == {0: 40.0}


def test_attributes_follow_the_contract() -> None:
    attributes = translate(_COMPLETED, main_level=1).attributes
    assert attributes["boot"]["weights_gib"] == 71.2
    assert attributes["ran"] == {"all_reduce": "nccl"}
    assert [m["level"] for m in attributes["measurements"]] == [1, 8]
    assert attributes["boots"] == 1
    assert attributes["command"] == {
        "argv": ["python", "-m", "sglang.launch_server"],
        "env": {"HF_TOKEN": "***"},
    }


def test_telling_twice_up_to_the_commit_point_changes_nothing() -> None:
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(storage=storage, direction="maximize")
    trial = study.ask()
    told = translate(_COMPLETED, main_level=1)
    for name, value in told.attributes.items():
        storage.set_trial_user_attr(trial._trial_id, name, value)
    tell(storage, trial._trial_id, told)
    assert study.trials[0].value == 80.0
