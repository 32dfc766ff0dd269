"""What the server used instead of what it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trials.flags import FlagCatalogue
from trials.ran import WhatRan, what_ran
from trials.settings import Settings, SettingValue

CatalogueOf = Callable[[str], FlagCatalogue]

PCIE = (
    "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. To silence "
    "this warning, specify disable_custom_all_reduce=True explicitly."
)


@pytest.fixture
def ask(catalogue_of: CatalogueOf) -> Callable[..., WhatRan]:
    def asked(settings: Settings, args: dict[str, Any] | None = None, *notices: str) -> WhatRan:
        return what_ran(settings, args, notices, catalogue_of("0.5.23"))

    return asked


def test_a_server_that_did_as_asked(ask: Callable[..., WhatRan]) -> None:
    settings: Settings = {
        "mem_fraction_static": 0.88,
        "cuda_graph_max_bs": 128,
        "max_running_requests": 48,
        "layout": "tp8-adp2",
        "all_reduce": "nccl",
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "flag.attention-backend": "fa3",
        "flag.enable-mixed-chunk": True,
        "env.X": "1",
    }
    args = {
        "mem_fraction_static": 0.88,
        "cuda_graph_config": {"decode": {"backend": "full", "max_bs": 128}},
        "max_running_requests": 48,
        "tp_size": 8,
        "ep_size": 1,
        "dp_size": 1,
        "attn_dp_size": 2,
        "enable_dp_attention": True,
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "attention_backend": "fa3",
        "enable_mixed_chunk": True,
    }
    assert ask(settings, args, "Using fallback token IDs for yes/no (9693/2152)") == WhatRan({}, ())


@pytest.mark.parametrize(
    ("settings", "args", "ran"),
    [
        ({"mem_fraction_static": 0.9}, {"mem_fraction_static": 0.85}, {"mem_fraction_static": 0.85}),
        ({"chunked_prefill_size": 8192}, {"chunked_prefill_size": 4096}, {"chunked_prefill_size": 4096}),
        ({"cuda_graph_max_bs": 512}, {"cuda_graph_max_bs": 256}, {"cuda_graph_max_bs": 256}),
        ({"cuda_graph_max_bs": 512}, {"disable_cuda_graph": True}, {"cuda_graph_max_bs": 0}),
        (
            {"cuda_graph_max_bs": 64},
            {"cuda_graph_config": {"decode": {"backend": "disabled", "max_bs": 64}}},
            {"cuda_graph_max_bs": 0},
        ),
        ({"layout": "tp8"}, {"tp_size": 8, "ep_size": 8, "dp_size": 1}, {"layout": "tp8-ep8"}),
        (
            {"layout": "tp8"},
            {"tp_size": 8, "dp_size": 2, "enable_dp_attention": True},
            {"layout": "tp8-adp2"},
        ),
        (
            {"speculative_algorithm": "NEXTN"},
            {"speculative_algorithm": "EAGLE"},
            {"speculative_algorithm": "EAGLE"},
        ),
        (
            {"speculative_algorithm": "EAGLE"},
            {"speculative_algorithm": None},
            {"speculative_algorithm": "off"},
        ),
        (
            {"flag.attention-backend": "trtllm_mha"},
            {"attention_backend": "flashinfer"},
            {"flag.attention-backend": "flashinfer"},
        ),
        ({"flag.enable-metrics": False}, {"enable_metrics": True}, {"flag.enable-metrics": True}),
    ],
)
def test_resolved_arguments(
    ask: Callable[..., WhatRan], settings: Settings, args: dict[str, Any], ran: Settings
) -> None:
    result = ask(settings, args)
    assert result.ran == ran
    assert len(result.sentences) == 1
    assert next(iter(settings)) in result.sentences[0]


@pytest.mark.parametrize(
    ("settings", "args"),
    [
        ({"layout": "tp8-adp2", "chunked_prefill_size": 8192}, {"chunked_prefill_size": 4096}),
        ({"speculative_algorithm": "off"}, {"speculative_algorithm": None}),
        ({"speculative_algorithm": "off", "speculative_num_steps": 3}, {"speculative_num_steps": 1}),
        ({"speculative_algorithm": "NGRAM", "speculative_num_steps": 3}, {"speculative_num_steps": 1}),
        ({"mem_fraction_static": 0.88}, {}),
        ({"flag.attention-backend": "fa3"}, {"attention_backend": None}),
        ({"flag.no-such-flag": 1}, {"no_such_flag": 2}),
        ({"flag.disable-cuda-graph": True}, {"disable_cuda_graph": False}),
    ],
)
def test_no_difference_is_made_up(
    ask: Callable[..., WhatRan], settings: Settings, args: dict[str, Any]
) -> None:
    assert ask(settings, args).ran == {}


@pytest.mark.parametrize(
    ("asked", "notice", "used"),
    [
        ("custom", PCIE, "nccl"),
        ("default", PCIE, "nccl"),
        ("default", PCIE.replace("Custom allreduce", "CustomAllreduce"), "nccl"),
        ("custom", PCIE.replace("Custom allreduce", "CustomAllReduceV2"), "nccl"),
        ("default", "Custom allreduce is disabled due to an unsupported world size: 3. Supported", "nccl"),
        ("custom", "Setup Custom allreduce failed with . To silence this warning, specify x.", "nccl"),
        ("pcie_ipc", "Setup FlashInfer PCIe-IPC allreduce failed with no P2P.", "nccl"),
        (
            "pcie_ipc",
            "FlashInfer PCIe-IPC workspace (max_numel=9) failed: x; reductions stay on NCCL",
            "nccl",
        ),
        (
            "pcie_ipc",
            "SGLANG_ENABLE_PCIE_IPC_ALLREDUCE is set but this FlashInfer build has no pcie_ipc_comm; falling "
            "back to NCCL all-reduce.",
            "nccl",
        ),
        (
            "torch_symm_mem",
            "TorchSymmMemCommunicator: Device capability 12 not supported, communicator is not available.",
            "default",
        ),
        ("mscclpp", "PyMscclpp is disabled due to an unsupported world size: 3.", "default"),
        (
            "flashinfer_fusion",
            "Failed to initialize FlashInfer workspace (backend=auto): x. Disabling flashinfer allreduce "
            "fusion permanently.",
            "default",
        ),
    ],
)
def test_all_reduce_that_was_not_used(
    ask: Callable[..., WhatRan], asked: str, notice: str, used: str
) -> None:
    result = ask({"all_reduce": asked}, None, notice)
    assert result.ran == {"all_reduce": used}
    assert len(result.sentences) == 1


def test_the_sentence_of_the_pcie_box(ask: Callable[..., WhatRan]) -> None:
    assert ask({"all_reduce": "custom"}, None, PCIE).sentences == (
        "custom all-reduce was disabled: more than two PCIe-only GPUs",
    )


def test_a_fall_back_on_a_pcie_box_ends_at_nccl(ask: Callable[..., WhatRan]) -> None:
    notice = "TorchSymmMemCommunicator: Device capability 12 not supported, communicator is not available."
    assert ask({"all_reduce": "torch_symm_mem"}, None, notice, PCIE).ran == {"all_reduce": "nccl"}


@pytest.mark.parametrize("asked", ["nccl", "pcie_ipc"])
def test_warnings_about_another_way_change_nothing(ask: Callable[..., WhatRan], asked: str) -> None:
    assert ask({"all_reduce": asked}, None, PCIE).ran == {}


@pytest.mark.parametrize(("layout", "used"), [("tp8", 31), ("tp8-adp2", 62)])
def test_requests_reduced_to_what_the_pool_holds(
    ask: Callable[..., WhatRan], layout: str, used: SettingValue
) -> None:
    notice = (
        "max_running_requests was reduced from the requested 64 to 31 (per dp worker) due to the available "
        "KV cache capacity."
    )
    result = ask({"layout": layout, "max_running_requests": 64}, None, notice)
    assert result.ran == {"max_running_requests": used}
    assert result.sentences == ("max_running_requests reduced to 31: the KV pool holds no more",)


def test_explanations_that_overrule_nothing(ask: Callable[..., WhatRan]) -> None:
    result = ask(
        {"layout": "tp2-adp2"},
        None,
        "DP attention is enabled. chunked prefill size is adjusted from 4096 to 2048.",
        "Max running requests is reset to 48 for speculative decoding. You can override this by",
        "KV pool holds 400 tokens, fewer than --context-length 2048. One full-length request cannot fit",
    )
    assert result.ran == {}
    assert len(result.sentences) == 3
