"""What SGLang makes of its command line: resolved sizes, defaults, warnings and refusals."""

from __future__ import annotations

import math
import os
from argparse import Namespace
from dataclasses import dataclass, field
from typing import Any

from trials.box.description import BoxDescription

_NGRAM = "NGRAM"
_EAGLE_FAMILY = ("EAGLE", "EAGLE3", "NEXTN")
_KNOWN_ALGORITHMS = (*_EAGLE_FAMILY, "STANDALONE", _NGRAM, "DFLASH")
_SPECULATIVE_MAX_RUNNING = 48


class ResolutionError(Exception):
    """The server dies while it resolves its arguments: the last line of its traceback."""


@dataclass(frozen=True)
class Speculation:
    """Speculative decoding as it will run."""

    algorithm: str
    steps: int
    topk: int
    draft_tokens: int
    uses_draft_model: bool


@dataclass
class ServerArgs:
    """The resolved arguments that matter to the box; ``table`` holds all of them.

    Attributes:
        fraction: ``mem_fraction_static``.
        max_running: Requests at once over all attention groups, None until the KV pool decides.
        all_reduce: What runs: "nccl", "custom", "pcie_ipc", "flashinfer_fusion", ...
        notices: Warnings that the launcher logs before its children start.
    """

    tp: int
    ep: int
    adp: int
    dp: int
    fraction: float
    graph_max_bs: int
    graphs: bool
    max_running: int | None
    chunked_prefill: int
    context_length: int
    speculation: Speculation | None
    all_reduce: str
    moe_a2a_backend: str
    host: str
    port: int
    table: dict[str, Any]
    notices: list[str] = field(default_factory=list)

    @property
    def gpus(self) -> int:
        return self.tp * self.dp

    @property
    def attention_tp(self) -> int:
        return self.tp // self.adp

    @property
    def rows_per_request(self) -> int:
        """Token rows that one request adds to a decode step."""
        return self.speculation.draft_tokens if self.speculation else 1

    def conditions(self) -> dict[str, Any]:
        """Every argument by name, for the conditions of faults and refusals."""
        own = {name: value for name, value in vars(self).items() if name not in ("table", "notices")}
        return {**self.table, **own}


def resolve(parsed: Namespace, box: BoxDescription) -> ServerArgs:
    """Fill in what SGLang fills in, and refuse what it refuses.

    Raises:
        ResolutionError: If the server would die here.
    """
    table = dict(vars(parsed))
    notices: list[str] = table.pop("deprecations", [])
    layout = _resolve_layout(table, box)
    speculation = _resolve_speculation(table, box, notices)
    graph_max_bs = _graph_max_bs(table, layout["tp"], box)
    chunked = table.get("chunked_prefill_size") or _default_chunked_prefill(box)
    args = ServerArgs(
        **layout,
        fraction=0.0,
        graph_max_bs=graph_max_bs,
        graphs=not (table.get("disable_cuda_graph") or table.get("cuda_graph_backend_decode") == "disabled"),
        max_running=table.get("max_running_requests"),
        chunked_prefill=chunked,
        context_length=_context_length(table, box),
        speculation=speculation,
        all_reduce=_all_reduce(table, box, layout["tp"]),
        moe_a2a_backend=table.get("moe_a2a_backend") or "none",
        host=table.get("host") or "127.0.0.1",
        port=table.get("port") or 30000,
        table=table,
        notices=notices,
    )
    if speculation and args.max_running is None:
        args.max_running = _SPECULATIVE_MAX_RUNNING
        notices.append("Max running requests is reset to 48 for speculative decoding.")
    fraction = table.get("mem_fraction_static")
    args.fraction = fraction if fraction is not None else automatic_fraction(args, box)
    _write_back(args)
    return args


def _resolve_layout(table: dict[str, Any], box: BoxDescription) -> dict[str, int]:
    tp = table.get("tp_size") or 1
    dp = table.get("dp_size") or 1
    adp = table.get("attn_dp_size") or 1
    if table.get("enable_dp_attention"):
        adp, dp = max(dp, adp), 1
    ep = tp if table.get("moe_a2a_backend") not in (None, "none") else table.get("ep_size") or 1
    if ep > tp or tp % ep:
        raise ResolutionError(
            "ValueError: parallel topology is inconsistent (set by override_permanently):\n"
            "tp_size == moe_ep_size * moe_dp_size * moe_tp_size\n"
            f"  {tp} != {ep} * 1 * {tp // ep} (= {ep * (tp // ep)})"
        )
    if tp % adp:
        raise ResolutionError(f"AssertionError: tp_size ({tp}) must be divisible by attn_dp_size ({adp})")
    return {"tp": tp, "ep": ep, "adp": adp, "dp": dp}


def _resolve_speculation(
    table: dict[str, Any], box: BoxDescription, notices: list[str]
) -> Speculation | None:
    name = table.get("speculative_algorithm")
    if name is None:
        return None
    algorithm = name.upper()
    if algorithm not in _KNOWN_ALGORITHMS:
        raise ResolutionError(f"ValueError: Unknown speculative algorithm name: {name}")
    if algorithm == _NGRAM:
        return Speculation(_NGRAM, 1, 1, table.get("speculative_num_draft_tokens") or 8, False)
    steps, topk, draft_tokens = _draft_shape(table, box)
    if topk == 1 and draft_tokens != steps + 1:
        notices.append(
            "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 "
            "when speculative_eagle_topk == 1"
        )
        draft_tokens = steps + 1
    return Speculation(algorithm, steps, topk, draft_tokens, uses_draft_model=True)


def _draft_shape(table: dict[str, Any], box: BoxDescription) -> tuple[int, int, int]:
    steps = table.get("speculative_num_steps")
    topk = table.get("speculative_eagle_topk")
    draft_tokens = table.get("speculative_num_draft_tokens")
    if steps is None:
        if topk is not None or draft_tokens is not None:
            raise ResolutionError("AssertionError")
        return box.model.auto_draft
    topk = topk or 1
    return steps, topk, draft_tokens or steps + 1


def _graph_max_bs(table: dict[str, Any], tp: int, box: BoxDescription) -> int:
    given = table.get("cuda_graph_max_bs_decode") or table.get("cuda_graph_max_bs")
    if given:
        return int(given)
    if 60 * 1024 <= box.cards.memory_mib < 160 * 1024:
        return 512 if tp >= 4 else 256
    return 512 if box.cards.memory_mib >= 160 * 1024 else 160


def _default_chunked_prefill(box: BoxDescription) -> int:
    return 8192 if box.cards.memory_mib >= 60 * 1024 else 4096


def _context_length(table: dict[str, Any], box: BoxDescription) -> int:
    given = table.get("context_length")
    longest = box.model.context_length
    if given and given > longest:
        raise ResolutionError(
            f"ValueError: Warning: User-specified context_length ({given}) is greater than the derived "
            f"context_length ({longest}). This may lead to incorrect model outputs or CUDA errors. Note that "
            "the derived context_length may differ from max_position_embeddings in the model's config. To "
            "allow overriding this maximum, set the env var SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1"
        )
    return given or longest


def _all_reduce(table: dict[str, Any], box: BoxDescription, tp: int) -> str:
    """Which all-reduce is asked for; what is asked for may still be refused or replaced at boot."""
    if table.get("flashinfer_allreduce_fusion_backend") or table.get("enable_flashinfer_allreduce_fusion"):
        return "flashinfer_fusion"
    for flag, name in (
        ("enable_torch_symm_mem", "torch_symm_mem"),
        ("enable_symm_mem", "nccl_symm_mem"),
        ("enable_mscclpp", "mscclpp"),
    ):
        if table.get(flag):
            return name
    if pcie_ipc_wanted() and tp in (2, 4, 8):
        return "nccl" if box.pcie_ipc_fails else "pcie_ipc"
    if table.get("disable_custom_all_reduce"):
        return "nccl"
    possible = box.custom_all_reduce_forced or box.cards.nvlink or tp == 2
    return "custom" if possible and tp > 1 else "nccl"


def pcie_ipc_wanted() -> bool:
    return os.environ.get("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE", "0").lower() in ("1", "true", "yes")


def automatic_fraction(args: ServerArgs, box: BoxDescription) -> float:
    """``mem_fraction_static`` when unset: the box's own figure, else SGLang's formula (in MB)."""
    if box.memory.auto_fraction is not None:
        return box.memory.auto_fraction
    reserve = 512 + max(args.chunked_prefill, 2048) * 1.5 + args.tp / 8 * 1024
    if args.graphs:
        reserve += args.graph_max_bs * 2
    if args.adp > 1:
        reserve += args.graph_max_bs * args.adp * (4.5 if args.graph_max_bs > 300 else 3)
    if box.cards.memory_mib > 60 * 1024:
        reserve = max(reserve, 10 * 1024)
    return round((box.cards.memory_mib - reserve) / box.cards.memory_mib, 3)


def captured_sizes(args: ServerArgs, requests: int) -> list[int]:
    """Batch sizes that are captured, as SGLang lists them, for one attention group of ``requests`` slots."""
    top = min(args.graph_max_bs, requests)
    if args.speculation:
        sizes = [
            *range(1, 9),
            *range(10, 33, 2),
            *range(40, 65, 4),
            *range(72, 257, 8),
            *range(272, top + 1, 16),
        ]
    else:
        sizes = [1, 2, 4, 8, 12, *range(16, 257, 8), *range(272, 512, 16), *range(512, top + 1, 32)]
    sizes = [size for size in sizes if size <= top]
    return sizes if top in sizes else [*sizes, top]


def running_requests(args: ServerArgs, kv_tokens: int) -> int:
    """Requests at once in one attention group, limited by its KV pool."""
    if args.max_running is None:
        return min(max(int(kv_tokens / args.context_length * 512), 2048), 4096) // args.adp
    return min(math.ceil(args.max_running / args.adp), kv_tokens // 2)


def _write_back(args: ServerArgs) -> None:
    """The resolved values, under SGLang's names, as ``server_args=`` and ``/server_info`` show them."""
    speculation = args.speculation
    if "attn_dp_size" in args.table:
        args.table.update(dp_size=args.dp, attn_dp_size=args.adp)
    graph_name = (
        "cuda_graph_max_bs_decode" if "cuda_graph_max_bs_decode" in args.table else "cuda_graph_max_bs"
    )
    args.table[graph_name] = args.graph_max_bs
    args.table.update(
        tp_size=args.tp,
        ep_size=args.ep,
        mem_fraction_static=args.fraction,
        max_running_requests=args.max_running,
        chunked_prefill_size=args.chunked_prefill,
        host=args.host,
        port=args.port,
        tokenizer_path=args.table.get("tokenizer_path") or args.table["model_path"],
        served_model_name=args.table.get("served_model_name") or args.table["model_path"],
    )
    if speculation:
        args.table.update(
            speculative_algorithm=speculation.algorithm,
            speculative_num_steps=speculation.steps,
            speculative_eagle_topk=speculation.topk,
            speculative_num_draft_tokens=speculation.draft_tokens,
        )
