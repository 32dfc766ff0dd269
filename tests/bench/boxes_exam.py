"""Exam boxes: drawn from a seed that nobody has looked at, so that a sampler cannot have been tuned on them.

A drawn box counts only if it is hard for others: random search's median regret after 60 cost units is at
least 20 %, and TPE's at least 8 % (``counts``). One box in a set is nearly crash-free and counts as drawn.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.bench.analytic import AnalyticBox, Bowl, Memory, Mine, Speed
from tests.bench.boxes_dev import EP_LAYOUTS, SPECULATIVE, WIDE

RANDOM_REGRET_AT_60 = 0.20
TPE_REGRET_AT_60 = 0.08

_LAYOUTS = ("tp8", "tp8-ep8", "tp8-adp2", "tp8-adp4", "tp8-adp8", "tp4-dp2", "tp8-ep8-adp8", "tp8-ep4")
_ALL_REDUCE = (
    "nccl",
    "custom",
    "pcie_ipc",
    "flashinfer_fusion",
    "torch_symm_mem",
    "nccl_symm_mem",
    "mscclpp",
)
_FLAGS: dict[str, tuple[str, ...]] = {
    "flag.attention-backend": ("flashinfer", "triton", "trtllm_mha", "fa3", "cutlass_mla", "flashmla"),
    "flag.moe-runner-backend": ("auto", "triton", "flashinfer_cutlass", "flashinfer_trtllm", "marlin"),
    "flag.moe-a2a-backend": ("none", "deepep", "flashinfer", "mooncake"),
    "flag.fp8-gemm-backend": ("auto", "cutlass", "deep_gemm", "triton"),
    "flag.sampling-backend": ("flashinfer", "pytorch"),
    "flag.kv-cache-dtype": ("auto", "fp8_e5m2", "fp8_e4m3"),
    "env.NCCL_MIN_NCHANNELS": ("4", "8", "16", "32"),
    "env.NCCL_P2P_DISABLE": ("0", "1"),
}
_NUMBERS: dict[str, dict[str, float | int]] = {
    "flag.num-continuous-decode-steps": {"low": 1, "high": 8},
    "flag.schedule-conservativeness": {"low": 0.1, "high": 1.5, "step": 0.1},
    "flag.stream-interval": {"low": 1, "high": 16},
}
_MINE_KINDS = (
    ("unsupported_kernel", "init_distributed", "kernel"),
    ("unsupported_kernel", "graph_capture", "kernel"),
    ("invalid_settings", "arguments", "arguments"),
    ("kernel_fault", "warm_up", "kernel"),
    ("communication", "graph_capture", "hang"),
    ("hang", "measure", "hang"),
)


class _Dice:
    """The generator's random numbers, with the few shapes that it needs."""

    def __init__(self, seed: int, index: int) -> None:
        self.rng = np.random.default_rng([seed, index])

    def between(self, low: float, high: float, *, log: bool = False) -> float:
        if log:
            return float(np.exp(self.rng.uniform(np.log(low), np.log(high))))
        return float(self.rng.uniform(low, high))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def some(self, values: Sequence[Any], at_least: int) -> list[Any]:
        count = int(self.rng.integers(min(at_least, len(values)), len(values) + 1))
        picked = self.rng.permutation(len(values))[:count]
        return [values[at] for at in sorted(picked)]

    def one(self, values: Sequence[Any]) -> Any:
        return values[int(self.rng.integers(len(values)))]


def draw_box(seed: int, index: int, *, nearly_crash_free: bool = False) -> AnalyticBox:
    """The box number ``index`` of an exam."""
    dice = _Dice(seed, index)
    level = dice.one([1, 1, 2, 4, 8, 16, 32, 64, 128])
    table = _table(dice)
    memory = _memory(dice, table["layout"], nearly_crash_free)
    lightest = min(memory.weights.values()) / memory.card
    low = round(max(0.5, min(0.8, lightest - dice.between(0.0, 0.12))), 2)
    table["mem_fraction_static"] = {"low": low, "high": 0.94, "step": 0.01}
    return AnalyticBox(
        name=f"exam-{seed}-{index}",
        table=table,
        level=level,
        context=int(dice.between(1500, 8000)),
        memory=memory,
        speed=_speed(dice, table),
        mines=() if nearly_crash_free else _mines(dice, table),
        noise=dice.between(0.01, 0.03),
        nearly_crash_free=nearly_crash_free,
    )


def counts(box: AnalyticBox, random_at_60: Sequence[float], tpe_at_60: Sequence[float]) -> bool:
    """Whether a drawn box is hard enough for the exam.

    Args:
        box: The box.
        random_at_60: Regrets of random search after 60 units, one per seed.
        tpe_at_60: The same of Optuna's TPE.
    """
    hard_for_random = statistics.median(random_at_60) >= RANDOM_REGRET_AT_60
    return box.nearly_crash_free or (hard_for_random and statistics.median(tpe_at_60) >= TPE_REGRET_AT_60)


def _table(dice: _Dice) -> dict[str, Any]:
    flags = dice.some(list(_FLAGS), 3)
    numbers = dice.some(list(_NUMBERS), 1)
    return {
        "mem_fraction_static": {},
        "cuda_graph_max_bs": dice.some([8, 16, 32, 64, 128, 256, 512], 5),
        "max_running_requests": dice.some([16, 32, 48, 64, 96, 128, 256], 4),
        "chunked_prefill_size": dice.some([2048, 4096, 8192, 16384, 32768], 3),
        "layout": ["tp8", *dice.some(_LAYOUTS[1:], 2)],
        "speculative_algorithm": ["off", *dice.some(["EAGLE3", "EAGLE"], 1)],
        "speculative_num_steps": {"low": 1, "high": int(dice.one([5, 6, 8]))},
        "speculative_eagle_topk": dice.some([1, 2, 4, 8], 2),
        "speculative_num_draft_tokens": {"low": 2, "high": int(dice.one([8, 16, 24]))},
        "all_reduce": dice.some(_ALL_REDUCE, 4),
        **{name: dice.some(_FLAGS[name], 2) for name in flags},
        **{name: _NUMBERS[name] for name in numbers},
    }


def _memory(dice: _Dice, layouts: Sequence[str], nearly_crash_free: bool) -> Memory:
    card = dice.one([47.5, 79.2, 95.6, 139.8, 178.0])
    share = dice.between(0.2, 0.4) if nearly_crash_free else dice.between(0.3, 0.78)
    base = card * share
    weights = {layout: base * _weight_factor(dice, layout) for layout in layouts}
    closed = not nearly_crash_free and dice.chance(0.15)
    return Memory(
        card=card,
        weights=weights,
        draft=card * (0.97 - share if closed else dice.between(0.01, 0.08)),
        reserve=card * dice.between(0.01, 0.05),
        graph_per_seq=card * dice.between(3e-5, 3e-4, log=True) * (0.2 if nearly_crash_free else 1.0),
        graph_per_draft_token=card * dice.between(3e-6, 5e-5, log=True) * (0.2 if nearly_crash_free else 1.0),
        chunk_per_k=card * dice.between(1e-3, 8e-3, log=True) * (0.2 if nearly_crash_free else 1.0),
        per_running=card * dice.between(1e-5, 3e-4, log=True) * (0.2 if nearly_crash_free else 1.0),
        workspace={name: card * dice.between(0.0, 0.04) for name in ("pcie_ipc", "mscclpp", "nccl_symm_mem")},
        kv_mib_per_token=dice.between(0.02, 0.2, log=True),
        bounds_in_logs=dice.chance(0.6),
    )


def _weight_factor(dice: _Dice, layout: str) -> float:
    factor = 1.0
    if "-dp2" in layout:
        factor *= dice.between(1.1, 1.9)
    if "-adp" in layout:
        factor *= dice.between(1.01, 1.12)
    return factor * dice.between(0.98, 1.03)


def _speed(dice: _Dice, table: dict[str, Any]) -> Speed:
    layouts, reduces = table["layout"], table["all_reduce"]
    useful = dice.chance(0.7)
    flags = [name for name in _FLAGS if name in table and isinstance(table[name], list)]
    return Speed(
        base_ms={layout: dice.between(8.0, 16.0) for layout in layouts},
        load_slope={layout: dice.between(0.04, 0.2) for layout in layouts},
        comm_share={layout: dice.between(0.15, 0.5) for layout in layouts},
        all_reduce={name: dice.between(0.5, 1.3) for name in reduces},
        factors={name: {value: dice.between(1.0, 1.3) for value in table[name]} for name in flags},
        bowls=_bowls(dice, table),
        pairs=_pair_factors(dice, table),
        pad=dice.between(0.0, 0.04),
        no_graph=dice.between(1.4, 2.5),
        accept={
            "EAGLE3": dice.between(0.55, 0.8) if useful else dice.between(0.1, 0.35),
            "EAGLE": dice.between(0.3, 0.7) if useful and dice.chance(0.4) else 0.05,
        },
        topk_gain=dice.between(0.0, 0.7),
        draft_ms=dice.between(0.3, 1.5),
        verify=dice.between(0.01, 0.07, log=True),
    )


def _bowls(dice: _Dice, table: dict[str, Any]) -> dict[str, Bowl]:
    bowls = {
        name: Bowl(dice.between(float(entry["low"]), float(entry["high"])), dice.between(0.03, 0.3))
        for name, entry in table.items()
        if name in _NUMBERS
    }
    best_chunk = float(dice.one(table["chunked_prefill_size"]))
    return {**bowls, "chunked_prefill_size": Bowl(best_chunk, dice.between(0.02, 0.12), log=True)}


def _categoricals(table: dict[str, Any]) -> list[str]:
    return [name for name in ("layout", "all_reduce", *_FLAGS) if name in table]


def _pair_factors(dice: _Dice, table: dict[str, Any]) -> tuple[tuple[str, Any, str, Any, float], ...]:
    """Combinations that are slower or faster together than each alone would say."""
    found = []
    for _ in range(int(dice.rng.integers(2, 6))):
        first, second = dice.some(_categoricals(table), 2)[:2]
        found.append(
            (first, dice.one(table[first]), second, dice.one(table[second]), dice.between(0.88, 1.2))
        )
    return tuple(found)


def _mines(dice: _Dice, table: dict[str, Any]) -> tuple[Mine, ...]:
    """One to three single values, one to four pairs; never what leaves nothing to run."""
    names = _categoricals(table)
    mines = []
    for _ in range(int(dice.rng.integers(1, 4))):
        name = dice.one([name for name in names if len(table[name]) > 2])
        mines.append(_mine(dice, {name: frozenset({dice.one(table[name][1:])})}))
    for _ in range(int(dice.rng.integers(1, 5))):
        first, second = dice.some(names, 2)[:2]
        mines.append(_mine(dice, {name: frozenset({dice.one(table[name])}) for name in (first, second)}))
    if dice.chance(0.4) and "flag.attention-backend" in table:
        backend = dice.one(table["flag.attention-backend"])
        when = {"speculative_algorithm": SPECULATIVE, "speculative_eagle_topk": WIDE}
        mines.append(_mine(dice, {**when, "flag.attention-backend": frozenset({backend})}))
    return tuple(_with_experts(mine, table) for mine in mines)


def _mine(dice: _Dice, when: dict[str, frozenset[Any]]) -> Mine:
    kind, stage, cost = dice.one(_MINE_KINDS)
    names = tuple(when)[-1:] if dice.chance(0.4) else ()
    return Mine(when, kind, stage, cost, names)


def _with_experts(mine: Mine, table: dict[str, Any]) -> Mine:
    """An all-to-all back end means something only with expert parallelism."""
    if "flag.moe-a2a-backend" not in mine.when or "layout" in mine.when:
        return mine
    layouts = frozenset(layout for layout in table["layout"] if "-ep" in layout) or EP_LAYOUTS
    return Mine({**mine.when, "layout": layouts}, mine.kind, mine.stage, mine.cost, mine.names)
