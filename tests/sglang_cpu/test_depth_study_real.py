"""Eight trials over the depth of EAGLE-3, on a target whose draft predicts every token."""

from __future__ import annotations

import pytest
from optuna.trial import TrialState

from tests.sglang_cpu.environment import SMALL, SPECULATIVE_ATTENTION, SglangCpu
from tests.sglang_cpu.real_study import RealStudy, run_study
from trials.marks import marked_processes

pytestmark = [pytest.mark.sglang_all, pytest.mark.timeout(3000)]

TRIALS = 8
_SPACE = """
[space]
mem_fraction_static = [0.2, 0.25, 0.3]
speculative_algorithm = ["off", "EAGLE3"]
speculative_num_steps = [1, 2, 3]
speculative_eagle_topk = [1]

[[known_good]]
mem_fraction_static = 0.3
speculative_algorithm = "off"
"""


@pytest.fixture(scope="module")
def study(sglang_cpu: SglangCpu, tmp_path_factory: pytest.TempPathFactory) -> RealStudy:
    return run_study(
        tmp_path_factory.mktemp("depth"),
        sglang_cpu,
        name="depth",
        trials=TRIALS,
        args=[*SMALL, *SPECULATIVE_ATTENTION],
        space=_SPACE,
        timeout_s=2900,
    )


def test_every_trial_works(study: RealStudy) -> None:
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * TRIALS


def test_accept_lengths_are_the_depth_and_the_verified_token(study: RealStudy) -> None:
    depths = set()
    for trial in study.trials:
        measurement = trial.user_attrs["measurements"][0]
        if trial.params["speculative_algorithm"] == "off":
            assert measurement["accept_length"] is None
            continue
        steps = trial.params["speculative_num_steps"]
        depths.add(steps)
        assert measurement["accept_length"] == pytest.approx(steps + 1, abs=0.15 * steps)
    assert len(depths) >= 2


def test_no_process_is_left(study: RealStudy) -> None:
    assert marked_processes(study.uuid) == []
