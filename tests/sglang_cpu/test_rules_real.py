"""The facts behind the rules, held against the code of the real SGLang 0.5.23."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.sglang_cpu.environment import SglangCpu
from trials.rules.backends import PCIE_IPC_TP
from trials.rules.rule import BACKENDS_OVER_ALL_GPUS
from trials.rules.speculation import tree_capacity

pytestmark = pytest.mark.sglang

TREES = [(1, 4), (2, 2), (3, 4), (4, 3)]
_ASK = """
import json, sys, torch
from sglang.srt.arg_groups.overrides import _A2A_EP_SPANNING_BACKENDS
from sglang.srt.distributed.device_communicators.pcie_ipc_ar import _SUPPORTED_WORLD_SIZES
from sglang.srt.speculative.eagle_utils import organize_draft_results
from sglang.srt.speculative.spec_utils import select_top_k_tokens


def drafts(steps, topk, draft_tokens):
    scores, lists, width = None, ([], [], []), 1
    for step in range(steps):
        chances = torch.rand(width, topk).softmax(-1)
        tokens = torch.randint(0, 99, (width, topk))
        hidden = torch.zeros(width, 4)
        _, hidden, scores, info = select_top_k_tokens(step, chances, tokens, hidden, scores, topk)
        width = topk
        for collected, new in zip(lists, info):
            collected.append(new)
    try:
        organize_draft_results(*lists, draft_tokens)
        return True
    except RuntimeError:
        return False


trees = json.load(sys.stdin)
print("FACTS" + json.dumps({
    "spanning": sorted(_A2A_EP_SPANNING_BACKENDS),
    "pcie_ipc": list(_SUPPORTED_WORLD_SIZES),
    "trees": [[drafts(*tree) for tree in pair] for pair in trees],
}))
"""


@pytest.fixture(scope="module")
def facts(sglang_cpu: SglangCpu) -> Any:
    """What the server's code says; trees at their capacity, and one token above it."""
    trees = [[(*tree, tree_capacity(*tree)), (*tree, tree_capacity(*tree) + 1)] for tree in TREES]
    answer = subprocess.run(
        [sglang_cpu.python, "-c", _ASK],
        input=json.dumps(trees),
        env={**sglang_cpu.env, "TORCHDYNAMO_DISABLE": "1"},  # compiling needs a C++ compiler
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    return json.loads(answer.stdout.rpartition("FACTS")[2])


def test_back_ends_that_divide_experts_over_all_gpus(facts: Any) -> None:
    assert facts["spanning"] == sorted(BACKENDS_OVER_ALL_GPUS)


def test_sizes_of_the_pcie_ipc_all_reduce(facts: Any) -> None:
    assert tuple(facts["pcie_ipc"]) == PCIE_IPC_TP


def test_a_tree_holds_as_many_draft_tokens_as_we_say_and_no_more(facts: Any) -> None:
    assert facts["trees"] == [[True, False]] * len(TREES)
