"""The memory window of each box follows from its arithmetic."""

from __future__ import annotations

import pytest

from trials.box.arguments import server_parser
from trials.box.description import load_box
from trials.box.memory import CardMemory, plan_memory
from trials.box.server_args import resolve

KIMI = "kimi-k2.5-8x-rtx-pro-6000"
EAGLE3 = (
    "--speculative-algorithm=EAGLE3",
    "--speculative-draft-model-path=some/draft",
    "--speculative-num-steps=3",
)


def memory_of(box: str, *flags: str, fraction: float = 0.88) -> CardMemory:
    description = load_box(box)
    parser = server_parser(description.sglang_version)
    parsed = parser.parse_args(["--model-path", "m", *flags, "--mem-fraction-static", str(fraction)])
    return plan_memory(resolve(parsed, description), description, description.cards.memory_gib)


def ending(memory: CardMemory, longest_prefill: int = 2048) -> str:
    if not memory.weights_fit:
        return "oom_weights"
    if memory.kv_tokens <= 0:
        return "kv_pool_too_small"
    if not memory.pool_fits:
        return "oom_kv_pool"
    if not memory.graphs_fit:
        return "oom_graph_capture"
    return "works" if memory.prefill_fits(longest_prefill) else "oom_runtime"


@pytest.mark.parametrize(
    ("flags", "weights"),
    [(("--tp-size=8",), 71.2), (("--tp-size=8", "--ep-size=8", "--attn-dp-size=8"), 85.6)],
)
def test_weights_of_the_independent_figures(flags: tuple[str, ...], weights: float) -> None:
    assert memory_of(KIMI, *flags).weights == pytest.approx(weights, abs=0.05)


@pytest.mark.parametrize(
    ("fraction", "expected"),
    [
        (0.76, "kv_pool_too_small"),
        (0.78, "works"),
        (0.88, "works"),
        (0.945, "oom_runtime"),
        (0.96, "oom_graph_capture"),
        (0.998, "oom_kv_pool"),
    ],
)
def test_kimi_window_with_eagle3(fraction: float, expected: str) -> None:
    memory = memory_of(KIMI, "--tp-size=8", *EAGLE3, fraction=fraction)
    assert ending(memory, longest_prefill=8192) == expected


def test_weights_that_do_not_fit() -> None:
    assert ending(memory_of(KIMI, "--tp-size=4")) == "oom_weights"


def test_many_draft_tokens_leave_a_window_of_a_few_points() -> None:
    flags = ("--tp-size=8", *EAGLE3, "--speculative-eagle-topk=4", "--speculative-num-draft-tokens=12")
    more = ("--max-running-requests=128", "--cuda-graph-max-bs-decode=128")
    works = [
        percent
        for percent in range(70, 100)
        if ending(memory_of(KIMI, *flags, *more, fraction=percent / 100)) == "works"
    ]
    assert works
    assert max(works) - min(works) <= 8


@pytest.mark.parametrize("steps", [1, 3])
def test_a_window_that_speculation_closes(steps: int) -> None:
    box = "mistral-large-4x-rtx-5090"
    small = ("--tp-size=4", "--cuda-graph-max-bs-decode=8", "--max-running-requests=8")
    speculative = (*small, *EAGLE3[:2], f"--speculative-num-steps={steps}")
    fractions = [percent / 200 for percent in range(160, 200)]
    assert any(ending(memory_of(box, *small, fraction=f)) == "works" for f in fractions)
    assert not any(ending(memory_of(box, *speculative, fraction=f)) == "works" for f in fractions)


def test_attention_groups_have_more_tokens_in_all_under_mla() -> None:
    one = memory_of("deepseek-v3-8x-h200", "--tp-size=8")
    eight = memory_of("deepseek-v3-8x-h200", "--tp-size=8", "--dp-size=8", "--enable-dp-attention")
    assert eight.kv_tokens * 8 > 4 * one.kv_tokens


def test_max_total_tokens_caps_the_pool() -> None:
    memory = memory_of(KIMI, "--tp-size=8", "--max-total-tokens=400")
    assert memory.kv_tokens == 400
    assert memory.kv < 0.1
