"""Every row of the seed report's table, on the box that imitates its machine."""

from __future__ import annotations

import json
import time
import urllib.request
from typing import Any

import pytest

pytestmark = pytest.mark.slow

KIMI = "kimi-k2.5-8x-rtx-pro-6000"
PATCHED = "kimi-k2.5-8x-rtx-pro-6000-patched"
NOISE = 0.06
FIXED_FRACTION = ("--mem-fraction-static", "0.88")
EAGLE3 = (
    "--speculative-algorithm=EAGLE3",
    "--speculative-draft-model-path=some/draft",
    "--speculative-num-steps=3",
    "--speculative-eagle-topk=1",
    "--speculative-num-draft-tokens=4",
)


def graph(size: int) -> tuple[str, str]:
    return ("--cuda-graph-max-bs-decode", str(size))


def single_stream(box: Any, tokens: int = 96) -> float:
    """Decode throughput of one stream, tok/s, from its first token to its last."""
    body = {
        "messages": [{"role": "user", "content": f"Tell me a story of {time.time()}"}],
        "max_tokens": tokens,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    }
    request = urllib.request.Request(
        f"http://127.0.0.1:{box.port}/v1/chat/completions", json.dumps(body).encode()
    )
    arrivals = []
    with urllib.request.urlopen(request, timeout=60) as reply:
        for line in reply:
            if line.startswith(b"data: {"):
                count = json.loads(line[6:])["usage"]["completion_tokens"]
                if count:
                    arrivals.append((time.perf_counter(), count))
    first, last = arrivals[0], next(arrival for arrival in arrivals if arrival[1] == tokens)
    return (last[1] - first[1]) / (last[0] - first[0])


@pytest.mark.parametrize(
    ("box_name", "flags", "tok_s"),
    [
        pytest.param(KIMI, graph(512), 82.0, id="nccl-512"),
        pytest.param(KIMI, graph(128), 89.5, id="nccl-128"),
        pytest.param(PATCHED, graph(512), 38.0, id="forced-custom-512"),
        pytest.param(PATCHED, graph(128), 38.0, id="forced-custom-128"),
    ],
)
def test_rows_that_worked(start_box: Any, box_name: str, flags: tuple[str, ...], tok_s: float) -> None:
    box = start_box(*flags, box=box_name).wait_ready()
    assert single_stream(box) == pytest.approx(tok_s, rel=NOISE)


def test_custom_all_reduce_is_nccl_on_the_unpatched_server(start_box: Any) -> None:
    assert "Custom allreduce is disabled because" in start_box().wait_ready().log


@pytest.mark.parametrize(
    ("flags", "words", "stage_line"),
    [
        pytest.param(
            ("--flashinfer-allreduce-fusion-backend", "auto"),
            "FlashInfer allreduce fusion requires SM90 or SM10X",
            "Memory pool end",
            id="flashinfer-fusion",
        ),
        pytest.param(
            ("--enable-torch-symm-mem",),
            "TORCH_SYMM_MEM_ALL_REDUCE_MAX_SIZES[self.device_capability]\nKeyError: 12",
            "Init parallel begin",
            id="torch-symm-mem",
        ),
    ],
)
def test_rows_that_failed_on_sm120(
    start_box: Any, flags: tuple[str, ...], words: str, stage_line: str
) -> None:
    box = start_box(*flags)
    assert box.wait_exit() == -9
    assert words in box.log
    assert box.log.index(stage_line) < box.log.index(words)
    assert "out of memory" not in box.log


def test_expert_parallel_asserts_before_it_runs_out_of_memory(start_box: Any) -> None:
    box = start_box("--ep-size", "8", "--moe-a2a-backend", "flashinfer")
    assert box.wait_exit() == -9
    assertion = box.log.index("AssertionError: Flashinfer MoE A2A requires")
    assert assertion < box.log.index("CUDA out of memory")


def test_automatic_fraction_is_too_low_for_weights_and_draft(start_box: Any) -> None:
    box = start_box(*graph(128), *EAGLE3)
    assert box.wait_exit() == -9
    assert "under --mem-fraction-static=0.76. Raise --mem-fraction-static above 0.768" in box.log
    assert "mem usage=71.20 GB" in box.log
    assert "mem usage=1.13 GB" in box.log


def test_eagle3_at_088_works_and_smaller_graphs_are_better(start_box: Any) -> None:
    common = (*FIXED_FRACTION, *EAGLE3, "--max-running-requests", "48")
    wide = start_box(*graph(512), *common).wait_ready()
    wide_tok_s = single_stream(wide)
    assert wide.stop() == 0
    narrow = start_box(*graph(128), *common).wait_ready()
    accept_length = narrow.generate(tokens=200)["meta_info"]["spec_accept_length"]
    assert 2.4 < accept_length < 3.8
    assert wide_tok_s == pytest.approx(94.0, rel=0.1)
    assert single_stream(narrow) == pytest.approx(97.4, rel=0.1)


def test_a_verify_step_takes_about_thirty_ms(start_box: Any) -> None:
    box = start_box(*graph(512), *FIXED_FRACTION, *EAGLE3, faults=[{"kind": "accept_one"}]).wait_ready()
    draft_ms = 3 * 0.9
    assert 1000 / single_stream(box) - draft_ms == pytest.approx(30.0, rel=NOISE)
