"""Development boxes: the only ones that the sampler may be tuned on. All figures are invented."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.bench.analytic import AnalyticBox, Bowl, Memory, Mine, Speed

LAYOUTS = ["tp8", "tp8-ep8", "tp8-adp2", "tp8-adp4", "tp4-dp2"]
EP_LAYOUTS = frozenset({"tp8-ep8"})
SPECULATIVE = frozenset({"EAGLE3", "EAGLE"})
WIDE = frozenset({2, 4, 8})

TABLE: dict[str, Any] = {
    "mem_fraction_static": {"low": 0.60, "high": 0.94, "step": 0.01},
    "cuda_graph_max_bs": [8, 16, 32, 64, 128, 256, 512],
    "max_running_requests": [16, 32, 48, 64, 128, 256],
    "chunked_prefill_size": [2048, 4096, 8192, 16384],
    "layout": LAYOUTS,
    "speculative_algorithm": ["off", "EAGLE3", "EAGLE"],
    "speculative_num_steps": {"low": 1, "high": 8},
    "speculative_eagle_topk": [1, 2, 4, 8],
    "speculative_num_draft_tokens": {"low": 2, "high": 16},
    "all_reduce": ["nccl", "custom", "pcie_ipc", "flashinfer_fusion", "torch_symm_mem", "mscclpp"],
    "flag.attention-backend": ["flashinfer", "triton", "trtllm_mha", "fa3"],
    "flag.moe-runner-backend": ["auto", "triton", "flashinfer_cutlass", "marlin"],
    "flag.moe-a2a-backend": ["none", "deepep", "flashinfer"],
    "flag.num-continuous-decode-steps": {"low": 1, "high": 8},
    "flag.schedule-conservativeness": {"low": 0.1, "high": 1.5, "step": 0.1},
    "env.NCCL_MIN_NCHANNELS": ["4", "8", "16"],
}

_MINES = (
    Mine({"all_reduce": frozenset({"flashinfer_fusion"})}, "unsupported_kernel", "graph_capture", "kernel"),
    Mine(
        {"all_reduce": frozenset({"torch_symm_mem"})},
        "unsupported_kernel",
        "init_distributed",
        "kernel",
        ("all_reduce",),
    ),
    Mine(
        {"layout": EP_LAYOUTS, "flag.moe-a2a-backend": frozenset({"flashinfer"})},
        "invalid_settings",
        "load_weights",
        "kernel",
    ),
    Mine({"flag.attention-backend": frozenset({"fa3"})}, "unsupported_kernel", "warm_up", "kernel"),
    Mine(
        {
            "speculative_algorithm": SPECULATIVE,
            "speculative_eagle_topk": WIDE,
            "flag.attention-backend": frozenset({"trtllm_mha"}),
        },
        "invalid_settings",
        "arguments",
        "arguments",
        ("speculative_eagle_topk",),
    ),
)


def table(low: float, *, without: tuple[str, ...] = (), **entries: Any) -> dict[str, Any]:
    """The common space with its own lowest memory fraction, layouts left out, and entries replaced."""
    layouts = [layout for layout in LAYOUTS if layout not in without]
    fraction = {"low": low, "high": 0.94, "step": 0.01}
    return {**TABLE, "mem_fraction_static": fraction, "layout": layouts, **entries}


KIMI = AnalyticBox(
    name="dev-kimi-one-stream",
    table=table(0.72, without=("tp4-dp2",)),
    level=1,
    context=4096,
    memory=Memory(
        card=95.6,
        weights={"tp8": 71.2, "tp8-ep8": 71.9, "tp8-adp2": 73.0, "tp8-adp4": 76.5, "tp4-dp2": 142.0},
        draft=3.1,
        reserve=1.6,
        graph_per_seq=0.0075,
        graph_per_draft_token=0.0022,
        chunk_per_k=0.24,
        per_running=0.004,
        workspace={"pcie_ipc": 0.4, "mscclpp": 0.8},
        kv_mib_per_token=0.07,
    ),
    speed=Speed(
        base_ms={"tp8": 8.6, "tp8-ep8": 11.5, "tp8-adp2": 9.9, "tp8-adp4": 12.1, "tp4-dp2": 13.0},
        load_slope={"tp8": 0.16, "tp8-ep8": 0.12, "tp8-adp2": 0.13, "tp8-adp4": 0.11, "tp4-dp2": 0.14},
        comm_share={"tp8": 0.45, "tp8-ep8": 0.4, "tp8-adp2": 0.35, "tp8-adp4": 0.3, "tp4-dp2": 0.3},
        all_reduce={
            "nccl": 1.0,
            "custom": 2.4,
            "pcie_ipc": 0.6,
            "flashinfer_fusion": 0.7,
            "torch_symm_mem": 0.8,
            "mscclpp": 0.9,
        },
        factors={
            "flag.attention-backend": {"flashinfer": 1.0, "triton": 1.12, "trtllm_mha": 0.95},
            "flag.moe-runner-backend": {
                "auto": 1.06,
                "triton": 1.15,
                "flashinfer_cutlass": 1.0,
                "marlin": 1.3,
            },
            "flag.moe-a2a-backend": {"deepep": 0.9},
            "env.NCCL_MIN_NCHANNELS": {"4": 1.03, "16": 1.02},
        },
        bowls={
            "flag.num-continuous-decode-steps": Bowl(3, 0.12),
            "flag.schedule-conservativeness": Bowl(0.8, 0.05),
            "chunked_prefill_size": Bowl(8192, 0.04, log=True),
        },
        pairs=(("flag.attention-backend", "triton", "all_reduce", "pcie_ipc", 1.08),),
        pad=0.012,
        no_graph=2.0,
        accept={"EAGLE3": 0.68, "EAGLE": 0.05},
        topk_gain=0.28,
        draft_ms=0.55,
        verify=0.035,
    ),
    mines=_MINES,
    noise=0.015,
)

DENSE_BUSY = replace(
    KIMI,
    name="dev-dense-64-streams",
    table=table(0.60),
    level=64,
    context=3000,
    memory=replace(
        KIMI.memory,
        card=79.0,
        weights={"tp8": 17.5, "tp8-ep8": 17.5, "tp8-adp2": 19.0, "tp8-adp4": 24.0, "tp4-dp2": 35.0},
        draft=1.2,
        kv_mib_per_token=0.16,
        chunk_per_k=0.5,
        graph_per_seq=0.02,
        bounds_in_logs=False,
    ),
    speed=replace(
        KIMI.speed,
        base_ms={"tp8": 12.0, "tp8-ep8": 14.5, "tp8-adp2": 12.5, "tp8-adp4": 14.0, "tp4-dp2": 12.8},
        load_slope={"tp8": 0.10, "tp8-ep8": 0.10, "tp8-adp2": 0.075, "tp8-adp4": 0.07, "tp4-dp2": 0.05},
        all_reduce={
            "nccl": 1.0,
            "custom": 0.7,
            "pcie_ipc": 1.4,
            "flashinfer_fusion": 0.55,
            "torch_symm_mem": 0.62,
            "mscclpp": 0.8,
        },
        accept={"EAGLE3": 0.3, "EAGLE": 0.05},
        verify=0.06,
        draft_ms=1.4,
        pad=0.03,
    ),
    mines=(
        Mine(
            {"all_reduce": frozenset({"pcie_ipc"})},
            "invalid_settings",
            "arguments",
            "arguments",
            ("all_reduce",),
        ),
        Mine(
            {"layout": frozenset({"tp8-adp2", "tp8-adp4"}), "all_reduce": frozenset({"flashinfer_fusion"})},
            "hang",
            "graph_capture",
            "hang",
        ),
        Mine({"layout": EP_LAYOUTS}, "invalid_settings", "load_weights", "kernel", ("layout",)),
        Mine(
            {"flag.moe-runner-backend": frozenset({"flashinfer_cutlass"}), "layout": frozenset({"tp4-dp2"})},
            "kernel_fault",
            "warm_up",
            "kernel",
        ),
    ),
    noise=0.02,
)

CLOSED_WINDOW = replace(
    KIMI,
    name="dev-closed-window",
    table=table(0.74, without=("tp4-dp2", "tp8-adp4")),
    memory=replace(KIMI.memory, draft=22.0, graph_per_seq=0.03, reserve=4.0, chunk_per_k=0.4),
    speed=replace(
        KIMI.speed,
        base_ms={"tp8": 9.6, "tp8-ep8": 9.2, "tp8-adp2": 9.9, "tp8-adp4": 12.1, "tp4-dp2": 13.0},
        factors={
            **KIMI.speed.factors,
            "flag.moe-runner-backend": {
                "auto": 1.2,
                "triton": 1.0,
                "flashinfer_cutlass": 1.16,
                "marlin": 1.35,
            },
        },
    ),
    mines=(
        *_MINES[:2],
        Mine({"flag.moe-runner-backend": frozenset({"marlin"})}, "unsupported_kernel", "warm_up", "kernel"),
    ),
    noise=0.01,
)

CRASH_FREE = replace(
    KIMI,
    name="dev-nearly-crash-free",
    table=table(0.60),
    level=8,
    memory=replace(
        KIMI.memory,
        card=140.0,
        weights={"tp8": 40.0, "tp8-ep8": 40.0, "tp8-adp2": 42.0, "tp8-adp4": 45.0, "tp4-dp2": 78.0},
        reserve=0.5,
        graph_per_seq=0.004,
        graph_per_draft_token=0.0006,
        chunk_per_k=0.1,
        per_running=0.001,
    ),
    speed=replace(KIMI.speed, verify=0.02, topk_gain=0.15),
    mines=(),
    noise=0.03,
    nearly_crash_free=True,
)

MEMORY_EDGE = replace(
    KIMI,
    name="dev-memory-edge",
    table=table(0.60, without=("tp4-dp2",)),
    level=128,
    context=6000,
    memory=replace(
        KIMI.memory,
        weights={"tp8": 55.0, "tp8-ep8": 55.8, "tp8-adp2": 57.0, "tp8-adp4": 60.0, "tp4-dp2": 110.0},
        kv_mib_per_token=0.05,
        graph_per_seq=0.016,
        chunk_per_k=0.35,
    ),
    speed=replace(
        KIMI.speed,
        load_slope={"tp8": 0.10, "tp8-ep8": 0.05, "tp8-adp2": 0.055, "tp8-adp4": 0.05, "tp4-dp2": 0.10},
        accept={"EAGLE3": 0.5, "EAGLE": 0.05},
        verify=0.05,
    ),
    noise=0.02,
)

WIDE_TREES = replace(
    KIMI,
    name="dev-wide-trees",
    table=table(0.70, without=("tp4-dp2",)),
    level=4,
    memory=replace(KIMI.memory, bounds_in_logs=False, draft=2.0),
    speed=replace(
        KIMI.speed,
        accept={"EAGLE3": 0.6, "EAGLE": 0.45},
        topk_gain=0.6,
        verify=0.012,
        draft_ms=0.35,
        factors={
            **KIMI.speed.factors,
            "flag.attention-backend": {"flashinfer": 1.18, "triton": 1.0, "trtllm_mha": 1.3, "fa3": 0.9},
        },
    ),
    mines=(
        *_MINES,
        Mine(
            {"speculative_algorithm": SPECULATIVE, "flag.moe-runner-backend": frozenset({"auto"})},
            "kernel_fault",
            "measure",
            "hang",
        ),
    ),
)

EXPERTS = replace(
    KIMI,
    name="dev-experts-32-streams",
    table=table(0.66, without=("tp4-dp2",)),
    level=32,
    memory=replace(
        KIMI.memory,
        weights={"tp8": 66.0, "tp8-ep8": 64.0, "tp8-adp2": 68.0, "tp8-adp4": 70.5, "tp4-dp2": 130.0},
        draft=2.2,
    ),
    speed=replace(
        KIMI.speed,
        base_ms={"tp8": 11.0, "tp8-ep8": 9.0, "tp8-adp2": 10.6, "tp8-adp4": 11.0, "tp4-dp2": 13.0},
        factors={
            **KIMI.speed.factors,
            "flag.moe-a2a-backend": {"none": 1.25, "deepep": 0.85, "flashinfer": 0.8},
        },
        accept={"EAGLE3": 0.6, "EAGLE": 0.05},
        verify=0.03,
    ),
)

DEV_BOXES = (KIMI, DENSE_BUSY, CLOSED_WINDOW, CRASH_FREE, MEMORY_EDGE, WIDE_TREES, EXPERTS)
