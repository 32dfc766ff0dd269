"""Failures of the real SGLang, provoked through a whole trial: named rightly, and nothing left running.

The study of ``test_study_real.py`` adds ``kv_pool_too_small`` and ``unsupported_kernel``.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.sglang_cpu.environment import SglangCpu, flags
from tests.sglang_cpu.real_trials import PLAIN, SCHEDULER, RealTrial, Strike, real_plan, run_for_real
from tests.sglang_cpu.running_server import RunningServer
from trials.outcome import EnvironmentFailed, Failure, SettingsFailed, Stage
from trials.readiness import ready_generation
from trials.settings import Settings

pytestmark = [pytest.mark.sglang, pytest.mark.timeout(600)]

BEFORE_SERVING = (Stage.INIT_DISTRIBUTED, Stage.LOAD_WEIGHTS, Stage.KV_POOL, Stage.WARM_UP)


def failure_of(trial: RealTrial) -> Failure:
    assert isinstance(trial.outcome, SettingsFailed | EnvironmentFailed), trial.outcome
    return trial.outcome.failure


def test_a_context_beyond_the_models_is_an_invalid_setting(sglang_cpu: SglangCpu, tmp_path: Path) -> None:
    settings: Settings = {"flag.context-length": 999999}
    plan = real_plan(sglang_cpu, tmp_path, args=flags(*PLAIN, context_length=None))
    trial = run_for_real(settings, plan)
    assert trial.verdict == "invalid_settings arguments settings"
    assert any("User-specified context_length (999999)" in line for line in failure_of(trial).evidence)


def test_what_the_parser_refuses_is_an_invalid_setting(sglang_cpu: SglangCpu, tmp_path: Path) -> None:
    plan = real_plan(sglang_cpu, tmp_path, args=flags(*PLAIN, cuda_graph_max_bs="16"))
    trial = run_for_real({}, plan)
    assert trial.verdict == "invalid_settings arguments settings"
    assert any("ambiguous option: --cuda-graph-max-bs" in line for line in failure_of(trial).evidence)


def test_a_missing_model_is_no_fault_of_the_settings(sglang_cpu: SglangCpu, tmp_path: Path) -> None:
    trial = run_for_real({}, real_plan(sglang_cpu, tmp_path, model="nope"))
    assert trial.verdict == "model arguments environment"
    assert any("/nope'" in line for line in failure_of(trial).evidence)


def test_a_scheduler_that_stands_still_is_a_hang(sglang_cpu: SglangCpu, tmp_path: Path) -> None:
    plan = real_plan(sglang_cpu, tmp_path, stage_timeouts_s=dict.fromkeys(BEFORE_SERVING, 6.0))
    strike = Strike(Stage.INIT_DISTRIBUTED, SCHEDULER, signal.SIGSTOP)
    trial = run_for_real({}, plan, strike)
    failure = failure_of(trial)
    assert (failure.kind, failure.at_fault) == ("hang", "settings")
    assert failure.stage in BEFORE_SERVING
    assert trial.stop_s < 60


def test_a_port_held_by_another_sglang_is_not_readiness(
    sglang_cpu: SglangCpu, running_server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It warms the other server up and says that it is ready; all of that is false."""
    monkeypatch.setattr("trials.port_book.fresh_port", lambda used: running_server.port)
    trial = run_for_real({}, real_plan(sglang_cpu, tmp_path))
    assert trial.verdict == "environment warm_up environment"
    assert any("[Errno 98]" in line for line in failure_of(trial).evidence)
    assert Stage.READY not in trial.record.stages
    ready_generation(running_server.url, 60.0)
