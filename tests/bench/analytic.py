"""An analytic box: what a real boot would answer, as arithmetic. For benchmarks of samplers only.

Every figure is invented, of the size that machines with eight cards show. A box answers settings with what
the product would store on the trial: value, ``boot`` and ``measurements``, or ``failure``; and the cost of
the boot in units of a good one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autotune.search.parameters import Settings, Value

COSTS = {
    "good": 1.0,
    "arguments": 0.05,
    "kernel": 0.5,
    "small": 0.6,
    "graph": 0.7,
    "prefill": 0.9,
    "hang": 1.0,
}
"""Cost of a boot, in good boots, by where it ends."""

OFF = "off"


@dataclass(frozen=True)
class Mine:
    """A combination that cannot run.

    Attributes:
        when: Per setting the values that belong to it; all settings together make it go off.
        kind: The failure's kind.
        stage: Where it strikes.
        cost: Key of ``COSTS``.
        names: Settings that the log names as the culprit (none: the log is silent).
    """

    when: Mapping[str, frozenset[Value]]
    kind: str
    stage: str
    cost: str
    names: tuple[str, ...] = ()

    def strikes(self, settings: Settings) -> bool:
        return all(settings.get(name) in values for name, values in self.when.items())


@dataclass(frozen=True)
class Bowl:
    """A numeric setting with a best value: time grows by ``depth`` per squared distance in ranges."""

    best: float
    depth: float
    log: bool = False

    def factor(self, value: float, low: float, high: float) -> float:
        place = [
            math.log2(max(number, 0.25)) if self.log else number for number in (value, self.best, low, high)
        ]
        return 1.0 + self.depth * ((place[0] - place[1]) / max(place[3] - place[2], 1e-9)) ** 2


@dataclass(frozen=True)
class Memory:
    """Per-GPU memory, GiB."""

    card: float
    weights: Mapping[str, float]
    draft: float
    reserve: float
    graph_per_seq: float
    graph_per_draft_token: float
    chunk_per_k: float
    per_running: float
    workspace: Mapping[Value, float]
    kv_mib_per_token: float
    bounds_in_logs: bool = True


@dataclass(frozen=True)
class Speed:
    """Time of a decode step, ms, and what multiplies it."""

    base_ms: Mapping[str, float]
    load_slope: Mapping[str, float]
    comm_share: Mapping[str, float]
    all_reduce: Mapping[Value, float]
    factors: Mapping[str, Mapping[Value, float]]
    bowls: Mapping[str, Bowl]
    pairs: tuple[tuple[str, Value, str, Value, float], ...]
    pad: float
    no_graph: float
    accept: Mapping[str, float]
    topk_gain: float
    draft_ms: float
    verify: float


@dataclass(frozen=True)
class Answer:
    """What one boot answered."""

    cost: float
    value: float | None
    attributes: dict[str, Any] = field(default_factory=dict)
    kind: str = "good"


@dataclass(frozen=True)
class AnalyticBox:
    """A machine, a model and a load."""

    name: str
    table: dict[str, Any]
    level: int
    context: int
    memory: Memory
    speed: Speed
    mines: tuple[Mine, ...]
    noise: float
    nearly_crash_free: bool = False

    def draft_tokens(self, settings: Settings) -> int:
        if settings["speculative_algorithm"] == OFF:
            return 0
        if settings["speculative_eagle_topk"] == 1:
            return int(settings["speculative_num_steps"]) + 1
        return int(settings["speculative_num_draft_tokens"])

    def static_gib(self, settings: Settings) -> float:
        draft = self.memory.draft if settings["speculative_algorithm"] != OFF else 0.0
        return self.memory.weights[str(settings["layout"])] + draft

    def graphs_gib(self, settings: Settings) -> float:
        per_seq = self.memory.graph_per_seq + self.memory.graph_per_draft_token * self.draft_tokens(settings)
        return 0.3 + per_seq * float(settings["cuda_graph_max_bs"])

    def left_gib(self, settings: Settings) -> float:
        rest = self.memory.card * (1.0 - float(settings["mem_fraction_static"])) - self.memory.reserve
        return rest - self.graphs_gib(settings) - self.memory.workspace.get(settings["all_reduce"], 0.0)

    def prefill_gib(self, settings: Settings) -> float:
        chunk = float(settings["chunked_prefill_size"]) / 1024.0
        return (
            chunk * self.memory.chunk_per_k
            + float(settings["max_running_requests"]) * self.memory.per_running
        )

    def kv_gib(self, settings: Settings) -> float:
        return self.memory.card * float(settings["mem_fraction_static"]) - self.static_gib(settings)

    def mine(self, settings: Settings) -> Mine | None:
        struck = [mine for mine in self.mines if mine.strikes(settings)]
        return min(struck, key=lambda mine: COSTS[mine.cost], default=None)

    def ending(self, settings: Settings) -> tuple[str, str, str]:
        """How the boot ends: key of ``COSTS``, kind and stage."""
        mine = self.mine(settings)
        if mine is not None and mine.cost == "arguments":
            return mine.cost, mine.kind, mine.stage
        if self.kv_gib(settings) < 0.4:
            return "small", "kv_pool_too_small", "kv_pool"
        if mine is not None and mine.cost == "kernel":
            return mine.cost, mine.kind, mine.stage
        if self.left_gib(settings) < 0:
            return "graph", "oom_graph_capture", "graph_capture"
        if mine is not None:
            return mine.cost, mine.kind, mine.stage
        if self.left_gib(settings) < self.prefill_gib(settings):
            return "prefill", "oom_runtime", "measure"
        return "good", "good", "ready"

    def true_value(self, settings: Settings) -> float:
        """tok/s without noise; 0 where it cannot run."""
        if self.ending(settings)[0] != "good":
            return 0.0
        running = float(min(self.level, int(settings["max_running_requests"])))
        kv_tokens = self.kv_gib(settings) * 1024.0 / self.memory.kv_mib_per_token
        fits = min(1.0, kv_tokens / (running * self.context))
        running = max(1.0, running * fits)
        accept, step = self._step(settings, running)
        return 1000.0 * running * accept / step * (0.85 + 0.15 * fits)

    def _step(self, settings: Settings, running: float) -> tuple[float, float]:
        """Tokens accepted and milliseconds of one decode step."""
        speed, layout = self.speed, str(settings["layout"])
        step = speed.base_ms[layout] * (1.0 + speed.load_slope[layout] * running**0.8)
        accept = 1.0
        tokens = self.draft_tokens(settings)
        if tokens:
            depth = int(settings["speculative_num_steps"])
            topk = int(settings["speculative_eagle_topk"])
            wide = 1.0 + speed.topk_gain * math.log2(topk) * min(1.0, (tokens - 1) / (depth * topk))
            rate = 1.0 - (1.0 - speed.accept[str(settings["speculative_algorithm"])]) ** wide
            reach = min(depth, tokens - 1)
            accept = sum(rate**depth_at for depth_at in range(reach + 1))
            step *= 1.0 + speed.verify * (tokens - 1) * (1.0 + 0.35 * running**0.7)
            step += depth * speed.draft_ms * (1.0 + 0.08 * math.log2(topk))
        share = speed.comm_share[layout]
        step *= 1.0 - share + share * speed.all_reduce[settings["all_reduce"]]
        return accept, step * self._factors(settings) * self._graph_factor(settings, running)

    def _graph_factor(self, settings: Settings, running: float) -> float:
        largest = float(settings["cuda_graph_max_bs"])
        if running > largest:
            return self.speed.no_graph
        return 1.0 + self.speed.pad * math.log2(largest / running + 1.0)

    def _factors(self, settings: Settings) -> float:
        product = 1.0
        for name, factors in self.speed.factors.items():
            if name != "flag.moe-a2a-backend" or "-ep" in str(settings["layout"]):
                product *= factors.get(settings[name], 1.0)
        for name, bowl in self.speed.bowls.items():
            entry = self.table[name]
            low, high = (entry["low"], entry["high"]) if isinstance(entry, dict) else (min(entry), max(entry))
            product *= bowl.factor(float(settings[name]), low, high)
        for first, value, second, other, factor in self.speed.pairs:
            if settings.get(first) == value and settings.get(second) == other:
                product *= factor
        return product

    def boot(self, settings: Settings, rng: np.random.Generator) -> Answer:
        """Start these settings once."""
        cost, kind, stage = self.ending(settings)
        drift = float(np.exp(rng.normal(0.0, self.noise)))
        if cost != "good":
            return Answer(COSTS[cost], None, {"failure": self._failure(settings, kind, stage)}, kind)
        value = self.true_value(settings) * drift
        return Answer(
            1.0,
            value,
            {"boot": self._boot(settings), "measurements": [{"level": self.level, "decode_tok_s": value}]},
        )

    def _boot(self, settings: Settings) -> dict[str, float | int | None]:
        draft = self.memory.draft if settings["speculative_algorithm"] != OFF else 0.0
        kv_gib = self.kv_gib(settings)
        return {
            "weights_gib": round(self.static_gib(settings) - draft, 2),
            "draft_gib": round(draft, 2),
            "kv_gib": round(kv_gib, 2),
            "kv_tokens": int(kv_gib * 1024.0 / self.memory.kv_mib_per_token),
            "graphs_gib": round(self.graphs_gib(settings), 2),
            "left_gib": round(self.left_gib(settings), 2),
            "boot_s": 240.0,
        }

    def _failure(self, settings: Settings, kind: str, stage: str) -> dict[str, Any]:
        return {
            "kind": kind,
            "stage": stage,
            "summary": f"{kind} at {stage}",
            "evidence": [],
            "remedies": self._remedies(settings, kind),
            "at_fault": "settings",
        }

    def _remedies(self, settings: Settings, kind: str) -> list[dict[str, Any]]:
        if kind == "kv_pool_too_small":
            bound = (
                (self.static_gib(settings) + 0.4) / self.memory.card if self.memory.bounds_in_logs else None
            )
            return [
                {"setting": "mem_fraction_static", "direction": "raise", "bound": bound and round(bound, 4)}
            ]
        if kind == "oom_graph_capture":
            names = ("mem_fraction_static", "cuda_graph_max_bs", "speculative_num_draft_tokens")
        elif kind == "oom_runtime":
            names = ("mem_fraction_static", "chunked_prefill_size", "max_running_requests")
        else:
            mine = self.mine(settings)
            return [
                {"setting": name, "direction": "change", "bound": None}
                for name in (mine.names if mine else ())
            ]
        return [{"setting": name, "direction": "lower", "bound": None} for name in names if name in settings]
