"""Resolved arguments read back into settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trials.failures.files import read_log
from trials.settings_back import settings_said

LOGS = Path(__file__).parent / "logs" / "sglang-0.5.23-cpu"


def test_a_real_servers_line_which_was_cut_off_before_its_speculation() -> None:
    args = read_log(LOGS / "dp_attention.log.gz").log.server_args
    assert args is not None
    names = ("mem_fraction_static", "max_running_requests", "layout", "speculative_algorithm", "env.X")
    assert settings_said(args, names) == {
        "mem_fraction_static": 0.3,
        "max_running_requests": 8,
        "layout": "tp2-adp2",
    }


def test_speculation_graphs_and_flags() -> None:
    args = {
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "cuda_graph_max_bs": 128,
        "attention_backend": "fa3",
        "schedule_conservativeness": 0.3,
        "tp_size": 8,
    }
    names = (
        "speculative_algorithm",
        "speculative_num_steps",
        "speculative_eagle_topk",
        "cuda_graph_max_bs",
        "flag.attention-backend",
        "flag.schedule-conservativeness",
    )
    assert settings_said(args, names) == {
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "cuda_graph_max_bs": 128,
        "flag.attention-backend": "fa3",
        "flag.schedule-conservativeness": 0.3,
    }


def test_what_is_divided_among_attention_groups_is_left_out() -> None:
    args = {"tp_size": 8, "dp_size": 2, "enable_dp_attention": True, "chunked_prefill_size": 1024}
    assert settings_said(args, ("layout", "chunked_prefill_size")) == {"layout": "tp8-adp2"}


@pytest.mark.parametrize(
    "args, way",
    [
        ({"disable_custom_all_reduce": False}, "default"),
        ({"disable_custom_all_reduce": True}, "nccl"),
        ({"disable_custom_all_reduce": False, "enable_torch_symm_mem": True}, "torch_symm_mem"),
        ({"disable_custom_all_reduce": False, "enable_mscclpp": True}, "mscclpp"),
        (
            {"disable_custom_all_reduce": False, "flashinfer_allreduce_fusion_backend": "auto"},
            "flashinfer_fusion",
        ),
        ({"disable_custom_all_reduce": False, "flashinfer_allreduce_fusion_backend": None}, "default"),
    ],
)
def test_all_reduce(args: dict[str, Any], way: str) -> None:
    assert settings_said(args, ("all_reduce",)) == {"all_reduce": way}
