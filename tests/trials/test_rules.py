"""Known impossible combinations: each rule once broken, and once just kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from trials.model_facts import ModelFacts
from trials.rules import RULES, Combination, forbidden, remarks, rules_for
from trials.rules.fixed import fixed_settings
from trials.rules.speculation import tree_capacity
from trials.settings import ServerPlan, Settings

KIMI = ModelFacts(
    architecture="KimiK25ForConditionalGeneration",
    heads=64,
    experts=384,
    expert_width=2048,
    width=18432,
    dtype="bfloat16",
)
QWEN_FP8 = ModelFacts(
    architecture="Qwen3MoeForCausalLM", heads=64, kv_heads=4, experts=128, expert_width=1536, block=128
)
LLAMA = ModelFacts(architecture="LlamaForCausalLM", heads=24, kv_heads=8, width=8190, dtype="float16")
DEEPSEEK = ModelFacts(architecture="DeepseekV3ForCausalLM", heads=128)

EAGLE: Settings = {"speculative_algorithm": "EAGLE3", "speculative_num_steps": 2, "speculative_eagle_topk": 2}

BROKEN_AND_KEPT: list[tuple[str, Settings, Settings, ModelFacts | None]] = [
    ("layout", {"layout": "tp4-adp2-dp2"}, {"layout": "tp4-dp2"}, None),
    ("gpus", {"layout": "tp8-dp2"}, {"layout": "tp4-dp2"}, None),
    ("ep divides tp", {"layout": "tp4-ep8"}, {"layout": "tp8-ep4"}, None),
    ("adp divides tp", {"layout": "tp8-adp3"}, {"layout": "tp8-adp4"}, None),
    ("heads", {"layout": "tp7"}, {"layout": "tp7-adp7"}, ModelFacts(heads=64)),
    ("kv heads", {"layout": "tp6"}, {"layout": "tp8"}, ModelFacts(heads=24, kv_heads=4)),
    ("no experts", {"layout": "tp2-ep2"}, {"layout": "tp2"}, ModelFacts(heads=32, kv_heads=8)),
    ("experts", {"layout": "tp5-ep5"}, {"layout": "tp4-ep4"}, ModelFacts(experts=384)),
    (
        "experts",
        {"layout": "tp8-ep8", "flag.ep-num-redundant-experts": 4},
        {"layout": "tp8-ep8", "flag.ep-num-redundant-experts": 8},
        ModelFacts(experts=128),
    ),
    ("expert width", {"layout": "tp8"}, {"layout": "tp8-ep8"}, QWEN_FP8),
    ("expert width", {"layout": "tp8"}, {"layout": "tp8", "flag.moe-a2a-backend": "deepep"}, QWEN_FP8),
    ("width", {"layout": "tp4"}, {"layout": "tp2"}, LLAMA),
    (
        "requests per group",
        {"layout": "tp8-adp8", "max_running_requests": 4},
        {"layout": "tp8-adp8", "max_running_requests": 8},
        None,
    ),
    ("fraction", {"mem_fraction_static": 5.0}, {"mem_fraction_static": 0.88}, None),
    ("at least one", {"cuda_graph_max_bs": 0}, {"cuda_graph_max_bs": 1}, None),
    (
        "whole pages",
        {"chunked_prefill_size": 4096, "flag.page-size": 1024, "layout": "tp8-adp8"},
        {"chunked_prefill_size": 4096, "flag.page-size": 64, "layout": "tp8-adp8"},
        None,
    ),
    (
        "tree size",
        {**EAGLE, "speculative_num_draft_tokens": 8},
        {**EAGLE, "speculative_num_draft_tokens": 7},
        None,
    ),
    (
        "empty draft",
        {"speculative_algorithm": "NGRAM", "speculative_num_draft_tokens": 1},
        {"speculative_algorithm": "NGRAM", "speculative_num_draft_tokens": 2},
        None,
    ),
    ("whole tree", EAGLE, {"speculative_algorithm": "EAGLE3"}, None),
    (
        "whole tree",
        {"speculative_algorithm": "EAGLE3", "speculative_num_draft_tokens": 4},
        {"speculative_algorithm": "EAGLE3", "speculative_num_steps": 3, "speculative_num_draft_tokens": 4},
        None,
    ),
    (
        "attention dp",
        {"speculative_algorithm": "NGRAM", "layout": "tp8-adp2"},
        {"speculative_algorithm": "EAGLE", "layout": "tp8-adp2"},
        None,
    ),
    (
        "tree on trtllm_mha",
        {**EAGLE, "speculative_num_draft_tokens": 4, "flag.decode-attention-backend": "trtllm_mha"},
        {**EAGLE, "speculative_eagle_topk": 1, "flag.decode-attention-backend": "trtllm_mha"},
        None,
    ),
    (
        "tree with pages",
        {
            **EAGLE,
            "speculative_num_draft_tokens": 4,
            "flag.page_size": 64,
            "flag.attention_backend": "flashmla",
        },
        {**EAGLE, "speculative_num_draft_tokens": 4, "flag.page_size": 64, "flag.attention_backend": "fa3"},
        None,
    ),
    (
        "moe-a2a-backend flashinfer",
        {"layout": "tp8-ep8", "flag.moe-a2a-backend": "flashinfer"},
        {"layout": "tp8-ep8-adp8", "flag.moe-a2a-backend": "flashinfer"},
        KIMI,
    ),
    (
        "moe-a2a-backend flashinfer",
        {"flag.moe-a2a-backend": "flashinfer", "flag.moe-runner-backend": "triton"},
        {"flag.moe-a2a-backend": "flashinfer", "flag.moe-runner-backend": "deep_gemm"},
        None,
    ),
    ("moe-a2a-backend deepep", {"flag.moe-a2a-backend": "deepep"}, {"flag.moe-a2a-backend": "none"}, LLAMA),
    (
        "moe-a2a-backend pplx",
        {"layout": "tp8", "flag.moe-a2a-backend": "pplx"},
        {"layout": "tp8-adp2", "flag.moe-a2a-backend": "pplx"},
        KIMI,
    ),
    (
        "moe-runner-backend flashinfer_cutlass",
        {"layout": "tp8-ep4", "flag.moe-runner-backend": "flashinfer_cutlass"},
        {"layout": "tp8-ep8", "flag.moe-runner-backend": "flashinfer_cutlass"},
        KIMI,
    ),
    (
        "pcie_ipc sizes",
        {"layout": "tp6", "all_reduce": "pcie_ipc"},
        {"layout": "tp4", "all_reduce": "pcie_ipc"},
        None,
    ),
    (
        "pcie_ipc type",
        {"all_reduce": "pcie_ipc"},
        {"all_reduce": "pcie_ipc", "flag.dtype": "bfloat16"},
        LLAMA,
    ),
    (
        "pcie_ipc deterministic",
        {"all_reduce": "pcie_ipc", "flag.enable-deterministic-inference": True},
        {"all_reduce": "nccl", "flag.enable-deterministic-inference": True},
        None,
    ),
]


@pytest.mark.parametrize(("name", "broken", "kept", "model"), BROKEN_AND_KEPT)
def test_each_rule_forbids_what_breaks_it_and_only_that(
    name: str, broken: Settings, kept: Settings, model: ModelFacts | None
) -> None:
    reason = forbidden(broken, gpu_count=8, model=model)
    assert reason is not None
    rules = [rule for rule in RULES if rule.name == name]
    combination = Combination(broken, 8, model or ModelFacts())
    assert reason in [rule.broken(combination) for rule in rules]
    assert forbidden(kept, gpu_count=8, model=model) is None


def test_every_rule_is_broken_once_above() -> None:
    tried = {name for name, *_ in BROKEN_AND_KEPT}
    families = {rule.name for rule in RULES if not rule.name.startswith(("moe-a2a-backend", "moe-runner"))}
    assert families - tried == {"draft model"}


@pytest.mark.parametrize(
    ("algorithm", "model", "has_draft", "allowed"),
    [
        ("EAGLE3", None, False, False),
        ("EAGLE3", None, True, True),
        ("EAGLE3", None, None, True),
        ("EAGLE", KIMI, False, False),
        ("EAGLE", None, False, True),
        ("NEXTN", DEEPSEEK, False, True),
        ("NGRAM", KIMI, False, True),
        ("off", KIMI, False, True),
    ],
)
def test_who_needs_a_draft_model(
    algorithm: str, model: ModelFacts | None, has_draft: bool | None, allowed: bool
) -> None:
    settings: Settings = {"speculative_algorithm": algorithm}
    reason = forbidden(settings, gpu_count=None, model=model, has_draft=has_draft)
    assert (reason is None) is allowed


def test_the_seed_reports_winner_is_allowed() -> None:
    settings: Settings = {
        "mem_fraction_static": 0.88,
        "cuda_graph_max_bs": 512,
        "max_running_requests": 48,
        "layout": "tp8",
        "all_reduce": "nccl",
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "speculative_eagle_topk": 1,
        "env.NCCL_P2P_DISABLE": "0",
    }
    assert forbidden(settings, gpu_count=8, model=KIMI, has_draft=True) is None


@pytest.mark.parametrize("algorithm", ["off", "NGRAM"])
def test_details_that_do_not_reach_the_server_forbid_nothing(algorithm: str) -> None:
    settings: Settings = {**EAGLE, "speculative_algorithm": algorithm, "speculative_num_draft_tokens": 8}
    assert forbidden(settings, gpu_count=8, model=None) is None


def test_unknown_gpus_and_model_forbid_nothing_about_them() -> None:
    assert forbidden({"layout": "tp64-ep64"}, gpu_count=None, model=None) is None


@pytest.mark.parametrize(
    ("steps", "topk", "capacity"), [(1, 4, 5), (2, 2, 7), (3, 4, 37), (1, 1, 2), (5, 1, 6)]
)
def test_tree_capacity(steps: int, topk: int, capacity: int) -> None:
    assert tree_capacity(steps, topk) == capacity


@pytest.mark.parametrize(
    ("args", "fixed"),
    [
        (
            ("--trust-remote-code", "--page-size", "64"),
            {"flag.trust-remote-code": True, "flag.page-size": 64},
        ),
        (("--max-running-requests=48",), {"max_running_requests": 48}),
        (("--mem-fraction-static", "0.8"), {"mem_fraction_static": 0.8}),
        (("--speculative-algorithm", "NGRAM"), {"speculative_algorithm": "NGRAM"}),
    ],
)
def test_fixed_arguments_as_settings(args: tuple[str, ...], fixed: Settings) -> None:
    assert fixed_settings(args) == fixed


@pytest.mark.parametrize(
    ("args", "layout"),
    [
        (("--tp", "8", "--ep-size", "8"), "tp8-ep8"),
        (("--tp-size", "8", "--dp-size", "2", "--enable-dp-attention"), "tp8-adp2"),
        (("--tp-size", "4", "--data-parallel-size", "2"), "tp4-dp2"),
        (("--tp-size", "8", "--attn-dp-size", "4"), "tp8-adp4"),
    ],
)
def test_fixed_layouts(args: tuple[str, ...], layout: str) -> None:
    assert fixed_settings(args)["layout"] == layout


def test_the_rules_of_one_server(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(
        '{"num_attention_heads": 64, "architectures": ["LlamaForCausalLM"]}'
    )
    server = ServerPlan(
        command=("x",),
        model_path=str(tmp_path),
        gpus=(0, 1, 2, 3),
        args=("--attention-backend", "trtllm_mha"),
    )
    broken = rules_for(server, 8)
    assert broken({"layout": "tp4"}) is None
    assert "there are 4" in str(broken({"layout": "tp8"}))
    assert "cannot be divided by 3" in str(broken({"layout": "tp3"}))
    assert "needs a draft model" in str(broken({"speculative_algorithm": "EAGLE"}))
    drafted = rules_for(server.model_copy(update={"draft_model_path": "d"}), 8)
    assert "works with speculative_eagle_topk 1 only" in str(
        drafted({**EAGLE, "speculative_num_draft_tokens": 4})
    )


def test_remarks_say_what_is_wasted() -> None:
    assert remarks({"cuda_graph_max_bs": 512, "max_running_requests": 48}) == [
        "cuda_graph_max_bs 512: batches above 48 requests never run, so none is captured"
    ]
    assert remarks({"cuda_graph_max_bs": 16, "max_running_requests": 64, "layout": "tp8-adp2"}) == [
        "cuda_graph_max_bs 16: batches of up to 32 requests run without a graph, slowly"
    ]
    assert remarks({"cuda_graph_max_bs": 48, "max_running_requests": 48}) == []
