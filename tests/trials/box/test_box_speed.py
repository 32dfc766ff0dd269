"""The cost model against the figures that it was built on."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from trials.box.arguments import server_parser
from trials.box.description import BoxDescription, load_box
from trials.box.server_args import ServerArgs, Speculation, resolve
from trials.box.speed import AcceptModel, SpeedModel

KIMI = "kimi-k2.5-8x-rtx-pro-6000"
SCALE = 11.17 / 9.9


def quiet(box: str) -> BoxDescription:
    description = load_box(box)
    return description.model_copy(update={"speed": description.speed.model_copy(update={"boot_noise": 0.0})})


def args_of(box: BoxDescription, *flags: str) -> ServerArgs:
    return resolve(server_parser(box.sglang_version).parse_args(["--model-path", "m", *flags]), box)


def step_ms(box_name: str, group: int, *flags: str, graph: int = 512) -> float:
    box = quiet(box_name)
    return SpeedModel(args_of(box, *flags), box, graph, random.Random(0)).step(group).ms


def eagle3(steps: int, topk: int = 1, draft_tokens: int | None = None) -> tuple[str, ...]:
    return (
        "--speculative-algorithm=EAGLE3",
        "--speculative-draft-model-path=some/draft",
        f"--speculative-num-steps={steps}",
        f"--speculative-eagle-topk={topk}",
        f"--speculative-num-draft-tokens={draft_tokens or steps + 1}",
    )


@pytest.mark.parametrize(("graph_max_bs", "ms"), [(128, 11.17), (512, 12.2)])
def test_single_stream_over_nccl(graph_max_bs: int, ms: float) -> None:
    flags = ("--tp-size=8", f"--cuda-graph-max-bs-decode={graph_max_bs}")
    assert step_ms(KIMI, 1, *flags) == pytest.approx(ms, abs=0.02)


@pytest.mark.parametrize(
    ("layout", "group", "ms"),
    [
        (("--tp-size=8",), 8, 20.2),
        (("--tp-size=8",), 128, 82.4),
        (("--tp-size=8", "--attn-dp-size=2"), 1, 11.8),
        (("--tp-size=8", "--attn-dp-size=2"), 16, 44.0),
        (("--tp-size=8", "--attn-dp-size=4"), 16, 57.9),
        (("--tp-size=8", "--ep-size=8", "--attn-dp-size=8"), 16, 77.2),
    ],
)
def test_layouts_of_the_independent_figures(layout: tuple[str, ...], group: int, ms: float) -> None:
    assert step_ms(KIMI, group, *layout, "--cuda-graph-max-bs-decode=128") == pytest.approx(
        ms * SCALE, rel=0.001
    )


def test_pcie_ipc_serves_what_was_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    nccl = step_ms(KIMI, 1, "--tp-size=8", "--cuda-graph-max-bs-decode=128")
    monkeypatch.setenv("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE", "1")
    fast = step_ms(KIMI, 1, "--tp-size=8", "--cuda-graph-max-bs-decode=128")
    assert fast == pytest.approx(nccl * 0.644)
    monkeypatch.setenv("SGLANG_PCIE_IPC_MAX_NUMEL", str(4 * 7168))
    assert step_ms(KIMI, 4, "--tp-size=8") < step_ms(KIMI, 5, "--tp-size=8") * 0.7


def test_nccl_without_peer_to_peer_is_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    before = step_ms(KIMI, 1, "--tp-size=8")
    monkeypatch.setenv("NCCL_P2P_DISABLE", "1")
    assert step_ms(KIMI, 1, "--tp-size=8") > before * 1.1


def test_a_batch_beyond_the_captured_sizes_runs_without_a_graph() -> None:
    box = quiet(KIMI)
    model = SpeedModel(args_of(box, "--tp-size=8"), box, 16, random.Random(0))
    inside, outside = model.step(16), model.step(17)
    assert (inside.graph, outside.graph) == (True, False)
    assert outside.ms > inside.ms * 1.5


def tok_s(box_name: str, streams: int, *flags: str) -> float:
    box = quiet(box_name)
    args = args_of(box, *flags)
    group = math.ceil(streams / args.adp)
    accepted = AcceptModel(args.speculation, box).mean(group) if args.speculation else 1.0
    return streams * accepted / SpeedModel(args, box, 512, random.Random(0)).step(group).ms * 1000


def test_depth_pays_at_one_stream_and_less_at_two() -> None:
    gains = [
        tok_s(KIMI, streams, "--tp-size=8", *eagle3(3)) / tok_s(KIMI, streams, "--tp-size=8")
        for streams in (1, 2)
    ]
    assert gains[0] > 1.05 > gains[1]


def test_speculation_loses_where_the_draft_is_bad() -> None:
    box = "qwen3-32b-4x-l40s"
    for streams in (1, 8, 32):
        plain = tok_s(box, streams, "--tp-size=4")
        assert all(tok_s(box, streams, "--tp-size=4", *eagle3(steps)) < plain for steps in (1, 2, 3, 5))


def test_attention_groups_win_at_high_load_and_lose_at_low() -> None:
    box, groups = "deepseek-v3-8x-h200", ("--dp-size=8", "--enable-dp-attention")
    assert tok_s(box, 128, "--tp-size=8", *groups) > 1.5 * tok_s(box, 128, "--tp-size=8")
    assert tok_s(box, 1, "--tp-size=8", *groups) < tok_s(box, 1, "--tp-size=8")


def test_accept_length_saturates_and_falls_with_load() -> None:
    box = load_box(KIMI)
    lengths = [
        AcceptModel(Speculation("EAGLE3", steps, 1, steps + 1, True), box).mean(1) for steps in range(1, 8)
    ]
    steps_gained = [after - before for before, after in itertools.pairwise(lengths)]
    assert all(gain > 0 for gain in steps_gained)
    assert steps_gained == sorted(steps_gained, reverse=True)
    deep = AcceptModel(Speculation("EAGLE3", 4, 1, 5, True), box)
    assert deep.mean(64) < deep.mean(1)


def test_a_draft_of_the_wrong_kind_is_never_accepted() -> None:
    assert AcceptModel(Speculation("EAGLE", 3, 1, 4, True), load_box(KIMI)).mean(1) == 1.0


def test_drawn_tokens_have_the_mean() -> None:
    model, rng = AcceptModel(Speculation("EAGLE3", 3, 1, 4, True), load_box(KIMI)), random.Random(5)
    mean = sum(model.draw(1, rng.random()) for _ in range(4000)) / 4000
    assert mean == pytest.approx(model.mean(1), rel=0.03)
