"""The seed report's table, row by row, through the worker: the same settings, the same ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trials.trial_runs import KIMI, run_on_box, trial_plan
from trials.outcome import Completed, FailureKind, SettingsFailed, Stage
from trials.settings import Settings

pytestmark = pytest.mark.slow

_EAGLE3: Settings = {
    "speculative_algorithm": "EAGLE3",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
}
_PLAIN: Settings = {
    "layout": "tp8",
    "all_reduce": "nccl",
    "speculative_algorithm": "off",
    "mem_fraction_static": 0.86,
}

_WORKED = [
    pytest.param(KIMI, {**_PLAIN, "cuda_graph_max_bs": 512}, 82.0, id="graph-512"),
    pytest.param(KIMI, {**_PLAIN, "cuda_graph_max_bs": 128}, 89.5, id="graph-128"),
    pytest.param(
        f"{KIMI}-patched",
        {**_PLAIN, "cuda_graph_max_bs": 512, "all_reduce": "custom"},
        38.0,
        id="custom-all-reduce-forced",
    ),
]


@pytest.mark.parametrize(("box", "settings", "tok_s"), _WORKED)
def test_throughput_of_the_row(box: str, settings: Settings, tok_s: float, tmp_path: Path) -> None:
    outcome, _ = run_on_box(settings, trial_plan(tmp_path, box=box))
    assert isinstance(outcome, Completed)
    assert outcome.measurements[0].decode_tok_s == pytest.approx(tok_s, rel=0.07)


_REFUSED = [
    pytest.param(
        {**_PLAIN, "cuda_graph_max_bs": 128, "all_reduce": "flashinfer_fusion"},
        {FailureKind.UNSUPPORTED_KERNEL},
        id="flashinfer-fusion",
    ),
    pytest.param(
        {**_PLAIN, "cuda_graph_max_bs": 128, "all_reduce": "torch_symm_mem"},
        {FailureKind.UNSUPPORTED_KERNEL},
        id="torch-symm-mem",
    ),
    pytest.param(
        {**_PLAIN, "cuda_graph_max_bs": 128, "layout": "tp8-ep8", "flag.moe-a2a-backend": "flashinfer"},
        {FailureKind.INVALID_SETTINGS, FailureKind.UNSUPPORTED_KERNEL},
        id="expert-parallel-flashinfer-a2a",
    ),
]


@pytest.mark.parametrize(("settings", "kinds"), _REFUSED)
def test_kernel_or_assertion_of_the_row(settings: Settings, kinds: set[FailureKind], tmp_path: Path) -> None:
    outcome, _ = run_on_box(settings, trial_plan(tmp_path))
    assert isinstance(outcome, SettingsFailed)
    assert outcome.failure.kind in kinds
    assert outcome.failure.evidence


def test_eagle3_at_the_automatic_fraction_is_too_small(tmp_path: Path) -> None:
    settings = {**_PLAIN, **_EAGLE3, "cuda_graph_max_bs": 128}
    del settings["mem_fraction_static"]
    outcome, _ = run_on_box(settings, trial_plan(tmp_path))
    assert isinstance(outcome, SettingsFailed)
    assert outcome.failure.kind is FailureKind.KV_POOL_TOO_SMALL
    assert outcome.failure.stage is Stage.KV_POOL
    remedy = next(r for r in outcome.failure.remedies if r.setting == "mem_fraction_static")
    assert remedy.direction == "raise"
    assert remedy.bound is not None
    assert remedy.bound > 0.76


@pytest.mark.parametrize("graph", [512, 128])
def test_eagle3_at_088_works_and_beats_no_speculation(graph: int, tmp_path: Path) -> None:
    settings = {
        **_PLAIN,
        **_EAGLE3,
        "mem_fraction_static": 0.88,
        "cuda_graph_max_bs": graph,
        "max_running_requests": 48,
    }
    outcome, record = run_on_box(settings, trial_plan(tmp_path))
    assert isinstance(outcome, Completed)
    assert outcome.measurements[0].decode_tok_s > 89.5
    assert outcome.measurements[0].accept_length is not None
    assert outcome.measurements[0].accept_length > 1.5
    assert record.reports[0].draft_gib is not None


def test_custom_all_reduce_over_pcie_is_nccl_and_said_so(tmp_path: Path) -> None:
    settings = {**_PLAIN, "cuda_graph_max_bs": 128, "all_reduce": "custom"}
    outcome, _ = run_on_box(settings, trial_plan(tmp_path))
    assert isinstance(outcome, Completed)
    assert outcome.ran == {"all_reduce": "nccl"}
    assert any("custom" in warning for warning in outcome.warnings)
