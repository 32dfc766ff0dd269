"""Every fault of the simulated box through the worker: survived, rightly named, the machine clean after."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.trials.trial_runs import KIMI, Record, run_on_box, trial_plan
from trials import boot, log_guard, run_trial, stopping
from trials.box.device_files import DeviceFiles
from trials.box.faults import FAULTS_VARIABLE
from trials.box.probe import BoxProbe
from trials.launch import box_state
from trials.marks import marked_processes
from trials.outcome import (
    AnyOutcome,
    Completed,
    EnvironmentFailed,
    FailureKind,
    SettingsFailed,
    Stage,
)
from trials.settings import BenchPlan, ReferenceAnswer, Settings, TrialPlan

pytestmark = pytest.mark.slow

_PLAIN: Settings = {
    "layout": "tp8",
    "all_reduce": "nccl",
    "speculative_algorithm": "off",
    "mem_fraction_static": 0.86,
    "cuda_graph_max_bs": 128,
}
_EAGLE3: Settings = {
    **_PLAIN,
    "mem_fraction_static": 0.88,
    "speculative_algorithm": "EAGLE3",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "max_running_requests": 48,
}
_ONE_STREAM = BenchPlan(levels=(1,), output_tokens=48, max_seconds_per_level=1.5)
_FOUR_STREAMS = BenchPlan(levels=(1, 4), output_tokens=48, max_seconds_per_level=1.5)
_PATIENCE_S = 3.0
_CHECK_PATIENCE_S = 10.0  # eight whole answers at once
_IDLE_MIB = 100
_BOOTING = ("start", "init_distributed", "load_weights", "kv_pool", "graph_capture", "warm_up")


def _plan(
    folder: Path,
    *faults: Mapping[str, Any],
    bench: BenchPlan = _ONE_STREAM,
    reference: tuple[ReferenceAnswer, ...] = (),
    **env: str,
) -> TrialPlan:
    """A plan that has little patience with silence."""
    stages = (*_BOOTING, "ready", "measure")
    return trial_plan(
        folder,
        env={FAULTS_VARIABLE: json.dumps(faults), **env},
        bench=bench,
        reference=reference,
        stage_timeouts_s={**dict.fromkeys(stages, _PATIENCE_S), "check": _CHECK_PATIENCE_S},
        soak_above=1e9,
    )


def _run(settings: Settings, plan: TrialPlan) -> AnyOutcome:
    """Run a trial that must leave nothing behind: no process, no open port, no memory in use."""
    outcome, _ = run_on_box(settings, plan)
    assert max(sample.used_mib for sample in _cards(plan).sample()) < _IDLE_MIB
    return outcome


def _cards(plan: TrialPlan) -> BoxProbe:
    return BoxProbe(KIMI, box_state(plan.workspace))


@dataclass(frozen=True)
class Expected:
    """How a trial must end.

    Attributes:
        stage: None where the ranks of a box race for it.
        summary: Words of the sentence.
    """

    kind: FailureKind
    stage: Stage | None = None
    boots: int = 1
    summary: str = ""


def _assert_fails(outcome: AnyOutcome, expected: Expected) -> None:
    environment = expected.kind in (FailureKind.ENVIRONMENT, FailureKind.UNKNOWN)
    assert isinstance(outcome, EnvironmentFailed if environment else SettingsFailed), outcome
    failure = outcome.failure
    assert failure.kind is expected.kind, failure
    assert failure.at_fault == ("environment" if environment else "settings")
    assert expected.stage in (None, failure.stage), failure
    assert failure.evidence, failure
    assert expected.summary in failure.summary
    assert outcome.boots == expected.boots


def _hang(stage: str, seen_at: Stage | None, **more: Any) -> Any:
    fault = {"kind": "hang", "stage": stage, **more}
    kind = "-".join(["hang", stage, *(["watchdog"] if more.get("watchdog") else [])])
    return pytest.param(fault, Expected(FailureKind.HANG, seen_at), id=kind)


_HANGS = [
    _hang("start", Stage.START),
    _hang("init_distributed", Stage.INIT_DISTRIBUTED),
    _hang("load_weights", Stage.LOAD_WEIGHTS),
    _hang("kv_pool", Stage.KV_POOL),
    _hang("graph_capture", Stage.GRAPH_CAPTURE),
    _hang("warm_up", Stage.WARM_UP),
    _hang("serving", Stage.WARM_UP),  # no token was made, whatever its log says
    _hang("serving", Stage.MEASURE, at_request=3),
    _hang("serving", Stage.CHECK, at_running=6),
    _hang("start", None, watchdog=True),
    _hang("init_distributed", Stage.INIT_DISTRIBUTED, watchdog=True),
    _hang("load_weights", Stage.LOAD_WEIGHTS, watchdog=True),
    _hang("kv_pool", Stage.KV_POOL, watchdog=True),
    _hang("graph_capture", Stage.GRAPH_CAPTURE, watchdog=True),
    _hang("warm_up", Stage.WARM_UP, watchdog=True),
    _hang("serving", Stage.READY, watchdog=True),
]


@pytest.mark.parametrize(("fault", "expected"), _HANGS)
def test_hang(fault: Mapping[str, Any], expected: Expected, tmp_path: Path) -> None:
    _assert_fails(_run(_PLAIN, _plan(tmp_path, fault)), expected)


def _kernel_fault(stage: Stage) -> Expected:
    return Expected(FailureKind.KERNEL_FAULT, stage, boots=2)


_DEATHS = [
    pytest.param(
        {"kind": "kernel_fault", "stage": "load_weights"}, _kernel_fault(Stage.LOAD_WEIGHTS), id="kernel-load"
    ),
    pytest.param(
        {"kind": "kernel_fault", "stage": "kv_pool"}, _kernel_fault(Stage.KV_POOL), id="kernel-pool"
    ),
    pytest.param(
        {"kind": "kernel_fault", "stage": "graph_capture"},
        _kernel_fault(Stage.GRAPH_CAPTURE),
        id="kernel-capture",
    ),
    pytest.param(
        {"kind": "kernel_fault", "stage": "warm_up"}, _kernel_fault(Stage.WARM_UP), id="kernel-warm-up"
    ),
    pytest.param(
        {"kind": "kernel_fault", "at_request": 2}, _kernel_fault(Stage.MEASURE), id="kernel-second-request"
    ),
    pytest.param({"kind": "abort_on_first_forward"}, _kernel_fault(Stage.READY), id="healthy-then-aborts"),
    pytest.param(
        {"kind": "disk_full", "stage": "load_weights"},
        Expected(FailureKind.ENVIRONMENT, Stage.LOAD_WEIGHTS, summary="disk is full"),
        id="disk-full-load",
    ),
    pytest.param(
        {"kind": "disk_full", "stage": "graph_capture"},
        Expected(FailureKind.ENVIRONMENT, Stage.GRAPH_CAPTURE, summary="disk is full"),
        id="disk-full-capture",
    ),
    pytest.param(
        {"kind": "scheduler_dies", "stage": "load_weights"},
        Expected(FailureKind.ENVIRONMENT, summary="Somebody killed"),
        id="killed-load",
    ),
    pytest.param(
        {"kind": "scheduler_dies", "stage": "graph_capture"},
        Expected(FailureKind.ENVIRONMENT, summary="Somebody killed"),
        id="killed-capture",
    ),
    pytest.param(
        {"kind": "scheduler_dies", "stage": "serving", "at_request": 3},
        Expected(FailureKind.ENVIRONMENT, Stage.MEASURE, summary="Somebody killed"),
        id="killed-serving",
    ),
    pytest.param(
        {"kind": "foreign_process", "card": 5, "mib": 30_000},
        Expected(FailureKind.ENVIRONMENT, summary="another process holds"),
        id="foreign-process",
    ),
    pytest.param(
        {"kind": "gpu_lost", "card": 2, "stage": "load_weights", "seconds": 4},
        Expected(FailureKind.ENVIRONMENT, summary="fallen off the bus"),
        id="gpu-lost-load",
    ),
    pytest.param(
        {"kind": "gpu_lost", "card": 2, "at_request": 3, "seconds": 4},
        Expected(FailureKind.ENVIRONMENT, Stage.MEASURE, summary="fallen off the bus"),
        id="gpu-lost-serving",
    ),
    pytest.param(
        {"kind": "connection_reset", "after_tokens": 4},
        Expected(FailureKind.UNKNOWN, Stage.MEASURE, summary="connection was lost"),
        id="connection-reset",
    ),
]


@pytest.mark.parametrize(("fault", "expected"), _DEATHS)
def test_death(fault: Mapping[str, Any], expected: Expected, tmp_path: Path) -> None:
    _assert_fails(_run(_PLAIN, _plan(tmp_path, fault)), expected)


def test_kernel_fault_at_four_streams_keeps_what_one_stream_showed(tmp_path: Path) -> None:
    plan = _plan(tmp_path, {"kind": "kernel_fault", "at_running": 4}, bench=_FOUR_STREAMS)
    outcome = _run(_PLAIN, plan)
    _assert_fails(outcome, _kernel_fault(Stage.MEASURE))
    assert [measured.level for measured in outcome.measurements] == [1]


@pytest.mark.parametrize("stage", ["graph_capture", "serving"])
def test_flaky_kernel_fault_is_tried_once_more(stage: str, tmp_path: Path) -> None:
    plan = _plan(tmp_path, {"kind": "kernel_fault", "stage": stage, "every": 2})
    DeviceFiles(box_state(plan.workspace)).count_boot()
    outcome = _run(_PLAIN, plan)
    assert isinstance(outcome, Completed), outcome
    assert outcome.boots == 2


def test_foreign_process_that_only_the_allocator_meets(tmp_path: Path) -> None:
    fault = {"kind": "foreign_process", "card": 5, "mib": 30_000, "seconds": 1.5}
    outcome = _run(_PLAIN, _plan(tmp_path, fault, SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK="0"))
    _assert_fails(outcome, Expected(FailureKind.ENVIRONMENT, summary="another process holds memory"))
    assert isinstance(outcome, EnvironmentFailed)
    assert any("train_something_else.py" in line for line in outcome.failure.evidence)


def test_foreign_process_that_stays_is_named_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "BOX_STOP", replace(stopping.BOX_STOP, release_s=1.5))
    plan = _plan(tmp_path, {"kind": "foreign_process", "card": 5, "mib": 2048, "seconds": 6})
    outcome = run_trial(_PLAIN, plan, Record(), Event())
    assert isinstance(outcome, Completed)
    assert not outcome.stop_proven
    assert "GPU 5 holds" in outcome.left_behind
    assert "train_something_else.py" in outcome.left_behind
    assert [held.index for held in _cards(plan).processes()] == [5]
    assert marked_processes(plan.mark) == []


def test_gpu_that_never_comes_back_leaves_the_stop_unproven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "BOX_STOP", replace(stopping.BOX_STOP, release_s=1.5))
    plan = _plan(tmp_path, {"kind": "gpu_lost", "card": 2, "at_request": 1})
    outcome = run_trial(_PLAIN, plan, Record(), Event())
    _assert_fails(outcome, Expected(FailureKind.ENVIRONMENT, Stage.WARM_UP, summary="GPU 2 has fallen off"))
    assert not outcome.stop_proven
    assert "restart the machine" in outcome.left_behind
    assert marked_processes(plan.mark) == []


@pytest.mark.parametrize("by_sglang", [False, True], ids=["silent-stranger", "another-sglang"])
def test_port_that_was_taken(by_sglang: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "DEATH_THROES_S", 1.0)
    outcome = _run(_PLAIN, _plan(tmp_path, {"kind": "port_taken", "by_sglang": by_sglang}))
    _assert_fails(outcome, Expected(FailureKind.ENVIRONMENT, Stage.WARM_UP, summary="port is held"))


def test_garbled_output_is_wrong_however_fast(tmp_path: Path) -> None:
    sound = _run(_PLAIN, _plan(tmp_path / "sound"))
    plan = _plan(tmp_path / "garbled", {"kind": "garbled_output"}, reference=sound.reference)
    _assert_fails(_run(_PLAIN, plan), Expected(FailureKind.WRONG_OUTPUT, Stage.CHECK))


def test_slow_drip_is_a_hang(tmp_path: Path) -> None:
    bench = BenchPlan(levels=(1,), output_tokens=48, max_seconds_per_level=4)
    plan = _plan(tmp_path, {"kind": "slow_drip", "factor": 70}, bench=bench)
    _assert_fails(_run(_PLAIN, plan), Expected(FailureKind.HANG, Stage.MEASURE))


_SURVIVED = [
    pytest.param({"kind": "orphan_scheduler", "rank": 3}, id="orphan"),
    pytest.param({"kind": "orphan_scheduler", "rank": 3, "own_session": True}, id="orphan-in-own-session"),
    pytest.param({"kind": "memory_comes_back_late", "seconds": 1.5}, id="memory-late"),
    pytest.param({"kind": "log_flood", "stage": "kv_pool", "mib": 24}, id="log-flood-boot"),
    pytest.param({"kind": "log_flood", "stage": "serving", "mib": 24}, id="log-flood-serving"),
]


@pytest.mark.parametrize("fault", _SURVIVED)
def test_survived_without_a_trace(fault: Mapping[str, Any], tmp_path: Path) -> None:
    assert isinstance(_run(_PLAIN, _plan(tmp_path, fault)), Completed)


@pytest.mark.parametrize(("stage", "seen_at"), [("kv_pool", None), ("serving", Stage.MEASURE)])
def test_flood_that_would_fill_the_disk_is_ended(
    stage: str, seen_at: Stage | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_guard, "MOST_LOG_MIB", 8)
    monkeypatch.setattr(log_guard, "_LOOKS_EVERY_S", 0.0)
    fault = {"kind": "log_flood", "stage": stage, "mib": 128, "at_request": 3}
    outcome = _run(_PLAIN, _plan(tmp_path, fault))
    _assert_fails(outcome, Expected(FailureKind.UNKNOWN, seen_at, summary="MiB of log"))


def test_accept_length_of_one_is_a_warning(tmp_path: Path) -> None:
    outcome = _run(_EAGLE3, _plan(tmp_path, {"kind": "accept_one"}))
    assert isinstance(outcome, Completed)
    assert outcome.measurements[0].accept_length == pytest.approx(1.0)
    assert any("accept length is exactly 1.00" in warning for warning in outcome.warnings)


def test_orphan_of_a_server_that_failed_is_ended_too(tmp_path: Path) -> None:
    faults = (
        {"kind": "orphan_scheduler", "rank": 3, "own_session": True},
        {"kind": "disk_full", "stage": "serving"},
    )
    _assert_fails(_run(_PLAIN, _plan(tmp_path, *faults)), Expected(FailureKind.ENVIRONMENT, Stage.READY))
