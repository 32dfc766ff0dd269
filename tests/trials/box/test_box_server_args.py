"""What the box makes of its command line before any process starts."""

from __future__ import annotations

import pytest

from trials.box.arguments import server_parser
from trials.box.description import load_box
from trials.box.server_args import ResolutionError, ServerArgs, captured_sizes, resolve

KIMI = "kimi-k2.5-8x-rtx-pro-6000"
EAGLE3 = ("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "some/draft")


def resolved(*flags: str, box: str = KIMI) -> ServerArgs:
    description = load_box(box)
    parsed = server_parser(description.sglang_version).parse_args(["--model-path", "m", *flags])
    return resolve(parsed, description)


def test_defaults_are_those_of_sglang_on_such_cards() -> None:
    args = resolved("--tp-size", "8")
    assert (args.graph_max_bs, args.chunked_prefill, args.max_running) == (512, 8192, None)
    assert resolved("--tp-size", "2").graph_max_bs == 256


def test_automatic_fraction_is_the_boxes_own_or_sglangs_formula() -> None:
    assert resolved("--tp-size", "8").fraction == 0.76
    plain = resolved("--tp-size", "4", box="qwen3-32b-4x-l40s")
    reserve = 512 + 4096 * 1.5 + 4 / 8 * 1024 + plain.graph_max_bs * 2
    assert plain.fraction == round((46068 - reserve) / 46068, 3)


def test_speculation_resets_running_requests_and_adjusts_draft_tokens() -> None:
    args = resolved(
        "--tp-size", "8", *EAGLE3, "--speculative-num-steps", "5", "--speculative-num-draft-tokens", "9"
    )
    assert args.max_running == 48
    assert args.speculation is not None
    assert args.speculation.draft_tokens == 6
    assert any("adjusted to speculative_num_steps + 1" in notice for notice in args.notices)


@pytest.mark.parametrize(
    ("flags", "all_reduce"),
    [
        ((), "nccl"),
        (("--disable-custom-all-reduce",), "nccl"),
        (("--enable-torch-symm-mem",), "torch_symm_mem"),
        (("--enable-symm-mem",), "nccl_symm_mem"),
        (("--enable-mscclpp",), "mscclpp"),
        (("--flashinfer-allreduce-fusion-backend", "auto"), "flashinfer_fusion"),
        (("--enable-flashinfer-allreduce-fusion",), "flashinfer_fusion"),
    ],
)
def test_all_reduce(flags: tuple[str, ...], all_reduce: str) -> None:
    assert resolved("--tp-size", "8", *flags).all_reduce == all_reduce


def test_custom_all_reduce_needs_nvlink_two_cards_or_the_patched_server() -> None:
    assert resolved("--tp-size", "8", box=f"{KIMI}-patched").all_reduce == "custom"
    assert resolved("--tp-size", "8", box="deepseek-v3-8x-h200").all_reduce == "custom"
    assert resolved("--tp-size", "2", box="qwen3-32b-4x-l40s").all_reduce == "custom"


def test_pcie_ipc_comes_from_the_environment_and_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE", "1")
    assert resolved("--tp-size", "8").all_reduce == "pcie_ipc"
    assert resolved("--tp-size", "4", box="mistral-large-4x-rtx-5090").all_reduce == "nccl"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--tp-size", "2", "--ep-size", "4"), "parallel topology is inconsistent"),
        (("--tp-size", "8", "--attn-dp-size", "3"), "must be divisible by attn_dp_size"),
        (("--speculative-algorithm", "BOGUS"), "Unknown speculative algorithm name: BOGUS"),
        (("--context-length", "999999"), r"User-specified context_length \(999999\) is greater"),
        ((*EAGLE3, "--speculative-eagle-topk", "4"), "AssertionError"),
    ],
)
def test_refusals(flags: tuple[str, ...], words: str) -> None:
    with pytest.raises(ResolutionError, match=words):
        resolved(*flags)


def test_attention_groups_in_old_and_new_words() -> None:
    new = resolved("--tp-size", "8", "--attn-dp-size", "4")
    old = resolved("--tp-size", "8", "--dp-size", "4", "--enable-dp-attention", box="deepseek-v3-8x-h200")
    assert (new.adp, new.dp) == (old.adp, old.dp) == (4, 1)
    assert resolved("--tp-size", "2", "--dp-size", "4").gpus == 8


def test_captured_sizes_stop_at_the_running_requests() -> None:
    args = resolved("--tp-size", "8", *EAGLE3)
    assert captured_sizes(args, 48)[-1] == 48
    assert captured_sizes(args, 3) == [1, 2, 3]
