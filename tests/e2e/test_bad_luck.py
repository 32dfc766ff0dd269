"""A night that is hit: Ctrl-C once and twice, kill -9, a second runner. Nothing is lost, nothing left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from optuna.trial import TrialState

from tests.e2e.box_study import BoxStudy, interrupt, wait_until

pytestmark = pytest.mark.slow


def _told(study: BoxStudy) -> dict[int, tuple[TrialState, float | None]]:
    return {trial.number: (trial.state, trial.value) for trial in study.trials() if trial.state.is_finished()}


def _assert_each_setting_was_told_once(study: BoxStudy) -> None:
    told = [
        tuple(sorted(trial.params.items()))
        for trial in study.trials()
        if trial.state in (TrialState.COMPLETE, TrialState.PRUNED) and "replicate_of" not in trial.user_attrs
    ]
    assert len(told) == len(set(told))


def test_ctrl_c_stops_cleanly_and_the_same_command_goes_on(tmp_path: Path) -> None:
    study = BoxStudy.write(tmp_path)
    runner = study.start()
    study.wait_for_stage(1, "measure")
    interrupt(runner)
    printed, _ = runner.communicate(timeout=60)
    assert runner.returncode == 130, printed
    assert study.processes() == []
    before = _told(study)
    assert before[0][0] is TrialState.COMPLETE
    assert before[1][0] is TrialState.FAIL
    study.run()
    after = _told(study)
    assert {number: after[number] for number in before} == before
    assert sum(state is TrialState.COMPLETE for state, _ in after.values()) == 4
    assert study.trials()[2].params == study.trials()[1].params
    _assert_each_setting_was_told_once(study)


@pytest.mark.parametrize("stage", ["start", "load_weights", "measure", "check", "stop"])
def test_kill_9_at_any_stage_loses_nothing(stage: str, tmp_path: Path) -> None:
    study = BoxStudy.write(tmp_path, trials=3)
    runner = study.start()
    study.wait_for_stage(1, stage)
    runner.kill()
    runner.communicate(timeout=60)
    before = _told(study)
    printed = study.run()
    after = _told(study)
    assert "died" in printed
    assert study.processes() == []
    assert {number: after[number] for number in before} == before
    assert sum(state is TrialState.COMPLETE for state, _ in after.values()) == 3
    _assert_each_setting_was_told_once(study)


def test_ctrl_c_twice_ends_at_once_and_leaves_no_orphan(tmp_path: Path) -> None:
    faults = '{ AUTOTUNE_BOX_FAULTS = \'[{"kind": "orphan_scheduler"}]\' }'
    study = BoxStudy.write(tmp_path, env=faults)
    runner = study.start()
    study.wait_for_stage(0, "measure")
    interrupt(runner)
    wait_until(lambda: any(row.stage == "stop" for row in study.stages(0)))
    interrupt(runner)
    printed, _ = runner.communicate(timeout=30)
    assert runner.returncode == 130, printed
    assert study.processes() == []


def test_second_runner_is_told_who_runs_the_study(tmp_path: Path) -> None:
    study = BoxStudy.write(tmp_path)
    runner = study.start()
    study.wait_for_stage(0, "start")
    second = subprocess.run(
        [sys.executable, "-m", "autotune", "run", "study.toml", "--no-dashboard"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert second.returncode == 1
    assert f"process {runner.pid} on" in second.stdout + second.stderr
    interrupt(runner)
    runner.communicate(timeout=60)
    assert runner.returncode == 130
