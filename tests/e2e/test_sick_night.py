"""A night in which a boot fails as a sick machine would make it fail: the canary says whose fault it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import FrozenTrial, TrialState

from tests.e2e.box_study import BoxStudy

pytestmark = pytest.mark.slow

_HANG = {"kind": "hang", "stage": "graph_capture", "watchdog": True}
_KERNEL_FAULT = {"kind": "kernel_fault", "stage": "graph_capture"}
_RESET = {"kind": "connection_reset", "after_tokens": 4}


def _at_boots(fault: Mapping[str, Any], *every: int) -> list[Mapping[str, Any]]:
    """The fault strikes every boot whose number, from 1, is a multiple of one of these."""
    return [{**fault, "every": number} for number in every]


def _roles(study: BoxStudy) -> list[str]:
    return [trial.user_attrs["role"] for trial in study.trials()]


def _failure(trial: FrozenTrial) -> dict[str, Any]:
    failure: dict[str, Any] = trial.user_attrs["failure"]
    return failure


@pytest.mark.parametrize(
    ("faults", "kind"),
    [
        pytest.param(_at_boots(_HANG, 2), "hang", id="hang"),
        pytest.param(_at_boots(_RESET, 2), "unknown", id="unknown"),
        pytest.param(_at_boots(_KERNEL_FAULT, 2, 3), "kernel_fault", id="kernel-fault"),
    ],
)
def test_canary_that_sings_blames_the_settings(
    faults: Sequence[Mapping[str, Any]], kind: str, tmp_path: Path
) -> None:
    study = BoxStudy.write(tmp_path, trials=5)
    study.run(faults)
    baseline, suspect, canary, *later = study.trials()
    assert baseline.state is TrialState.COMPLETE
    assert suspect.state is TrialState.PRUNED
    assert (_failure(suspect)["kind"], _failure(suspect)["at_fault"]) == (kind, "settings")
    assert canary.state is TrialState.COMPLETE
    assert (canary.user_attrs["role"], canary.user_attrs["replicate_of"]) == ("canary", 0)
    assert later, "the night did not go on"
    assert not study.optuna_study().user_attrs.get("suspects")
    assert study.processes() == []


@pytest.mark.parametrize(
    ("faults", "kind"),
    [
        pytest.param(_at_boots(_HANG, 2, 3), "hang", id="hang"),
        pytest.param(_at_boots(_RESET, 2, 3), "unknown", id="unknown"),
        pytest.param(_at_boots(_KERNEL_FAULT, 2, 3, 5), "kernel_fault", id="kernel-fault"),
    ],
)
def test_canary_that_dies_ends_the_night_and_a_mended_machine_goes_on(
    faults: Sequence[Mapping[str, Any]], kind: str, tmp_path: Path
) -> None:
    study = BoxStudy.write(tmp_path, trials=5)
    printed = study.run(faults, exit_code=1)
    assert "the machine is sick" in " ".join(printed.split())
    assert _roles(study) == ["baseline", "search", "canary"]
    baseline, suspect, canary = study.trials()
    assert baseline.state is TrialState.COMPLETE
    for failed in (suspect, canary):
        assert failed.state is TrialState.FAIL
        assert (_failure(failed)["kind"], _failure(failed)["at_fault"]) == (kind, "environment")
    assert study.optuna_study().user_attrs["suspects"] == [1]
    assert study.processes() == []
    study.run()
    assert [trial.state for trial in study.trials()[:3]] == [
        trial.state for trial in (baseline, suspect, canary)
    ]
    assert len(study.trials()) > 3
    assert all(trial.state is TrialState.COMPLETE for trial in study.trials()[3:])
