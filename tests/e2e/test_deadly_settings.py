"""Settings under which the host's memory ran out, twice: repeated once, then told, and the night goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from optuna.trial import TrialState

from tests.e2e.box_study import BoxStudy

pytestmark = pytest.mark.slow


def _die_of_memory(study: BoxStudy, number: int) -> None:
    """Let a runner get to a trial's weights and die there, as it would by the kernel's hand."""
    runner = study.start()
    study.wait_for_stage(number, "load_weights")
    runner.kill()
    runner.communicate(timeout=60)
    note = study.study / "trials" / f"{number:04d}" / "machine.json"
    before = json.loads(note.read_text()) | {"kernel_kills": -1, "cgroup_kills": -1}
    note.write_text(json.dumps(before))


def test_settings_that_eat_the_hosts_memory_are_repeated_once_and_then_told(tmp_path: Path) -> None:
    study = BoxStudy.write(tmp_path, trials=4)
    _die_of_memory(study, 1)
    _die_of_memory(study, 2)
    printed = study.run()
    assert "trial 2 died with the last runner and is not run again" in printed
    trials = study.trials()
    first, second = trials[1:3]
    assert first.params == second.params
    assert [first.state, second.state] == [TrialState.FAIL, TrialState.PRUNED]
    assert second.user_attrs["failure"]["kind"] == "oom_host"
    assert second.user_attrs["failure"]["stage"] in [row.stage for row in study.stages(2)]
    assert [trial.number for trial in trials if trial.params == first.params] == [1, 2]
    assert sum(trial.state is TrialState.COMPLETE for trial in trials) == 3
    assert study.processes() == []
