"""The cost model: what a decode step, a verify step and a prefill take, how many drafts are accepted."""

from __future__ import annotations

import itertools
import math
import os
import random
import re
from dataclasses import dataclass

from trials.box.description import AllReduce, BoxDescription, Curve
from trials.box.server_args import ServerArgs, Speculation

_LOADED_STREAMS = 64
_WORKSPACE_VARIABLE = "SGLANG_PCIE_IPC_MAX_NUMEL"


@dataclass(frozen=True)
class StepCost:
    """One decode step, ms, and whether a captured graph served it."""

    ms: float
    graph: bool


class SpeedModel:
    """Times of one server.

    Args:
        largest_graph: Largest captured batch of one attention group, 0 without graphs.
    """

    def __init__(self, args: ServerArgs, box: BoxDescription, largest_graph: int, rng: random.Random) -> None:
        self._args = args
        self._speed = box.speed
        self._largest_graph = largest_graph
        self._curve, self._layout_factor = _curve_for(args, box)
        self._all_reduce = box.speed.all_reduce.get(args.all_reduce, AllReduce())
        slowed = math.prod(
            factor
            for setting, factor in box.speed.nccl_environment.items()
            if os.environ.get(setting.partition("=")[0]) == setting.partition("=")[2]
        )
        self._nccl = AllReduce(factor=slowed, verify_factor=slowed)
        self._workspace_rows = int(os.environ.get(_WORKSPACE_VARIABLE) or 0) // box.model.hidden_size
        self._boot_factor = math.exp(rng.gauss(0.0, box.speed.boot_noise))

    def step(self, group: int, heat: float = 0.0) -> StepCost:
        """A decode (or draft and verify) step with ``group`` requests in the fullest attention group.

        Args:
            heat: How warm the cards are, 0 to 1.
        """
        speculation = self._args.speculation
        graph = group <= self._largest_graph
        rows = group * self._args.rows_per_request
        all_reduce = self._all_reduce_for(rows, graph)
        ms = self._rows_ms(rows) * all_reduce.factor
        if speculation:
            ms *= self._speed.verify_factor
            ms += self._speed.verify_extra_ms * all_reduce.verify_factor + self._draft_ms(speculation)
        if self._args.graphs:
            ms += (self._args.graph_max_bs - self._speed.graph_reference) * self._speed.graph_ms_per_size
        if not graph:
            ms = ms * self._speed.eager_factor + self._speed.eager_ms
        return StepCost(ms * self._boot_factor * (1 + self._speed.drift * heat), graph)

    def _all_reduce_for(self, rows: int, graph: bool) -> AllReduce:
        """What serves a batch: a workspace that is too small for it leaves it to NCCL."""
        if self._all_reduce.max_rows_from_graph:
            fits = rows <= self._workspace_rows if self._workspace_rows else graph
            return self._all_reduce if fits else self._nccl
        return self._nccl if self._args.all_reduce == "nccl" else self._all_reduce

    def prefill_ms(self, tokens: int) -> float:
        reference_gpus = _gpus_of(self._curve.layout)
        speed_up: float = (self._args.tp / reference_gpus) ** self._speed.gpu_exponent
        rate = self._speed.prefill_tok_s * speed_up
        return (self._speed.prefill_ms + tokens / rate * 1000) * self._boot_factor

    def _rows_ms(self, rows: int) -> float:
        return _interpolate(self._curve, rows) * self._speed.scale * self._layout_factor

    def _draft_ms(self, speculation: Speculation) -> float:
        if not speculation.uses_draft_model:
            return self._speed.ngram_ms
        width = 1 + self._speed.draft_topk_share * math.log2(speculation.topk)
        return speculation.steps * self._speed.draft_step_ms * width


class AcceptModel:
    """Accepted tokens of a verify step, at least one, as a saturating function of depth and width."""

    def __init__(self, speculation: Speculation, box: BoxDescription) -> None:
        acceptance = box.speculation.get(speculation.algorithm)
        native = speculation.algorithm in box.model.algorithms or not speculation.uses_draft_model
        depth, width = _tree_shape(speculation)
        self._loss = acceptance.load_loss if acceptance else 0.0
        self._chances: list[float] = []
        if acceptance and native:
            for position in range(depth):
                right = acceptance.first * acceptance.decay**position
                self._chances.append(1 - (1 - right) / width**acceptance.topk_exponent)

    def mean(self, running: int) -> float:
        """Expected tokens per verify step."""
        total, product = 1.0, 1.0
        for chance in self._at_load(running):
            product *= chance
            total += product
        return total

    def draw(self, running: int, luck: float) -> int:
        """Tokens of one verify step of one request.

        Args:
            luck: A number evenly spread over 0 to 1; the lower, the more drafts are right.
        """
        tokens, product = 1, 1.0
        for chance in self._at_load(running):
            product *= chance
            if luck >= product:
                break
            tokens += 1
        return tokens

    def _at_load(self, running: int) -> list[float]:
        load = math.log2(max(running, 1)) / math.log2(_LOADED_STREAMS)
        return [chance * (1 - self._loss * load) for chance in self._chances]


def _tree_shape(speculation: Speculation) -> tuple[int, float]:
    """Depth and width of the draft tree that the draft tokens allow."""
    drafts = speculation.draft_tokens - 1
    if not speculation.uses_draft_model:
        return drafts, 1.0
    depth = min(speculation.steps, drafts)
    return depth, max(1.0, min(float(speculation.topk), drafts / max(depth, 1)))


def _gpus_of(layout: str) -> int:
    found = re.match(r"tp(\d+)", layout)
    return int(found.group(1)) if found else 1


def _layout_name(args: ServerArgs, ep: int) -> str:
    parts = [f"tp{args.tp}"]
    parts += [f"ep{ep}"] if ep > 1 else []
    parts += [f"adp{args.adp}"] if args.adp > 1 else []
    return "-".join(parts)


def _curve_for(args: ServerArgs, box: BoxDescription) -> tuple[Curve, float]:
    """The layout's own curve, else the nearest one and the factor that replaces what it lacks."""
    curves = {curve.layout: curve for curve in box.speed.curves}
    exact = curves.get(_layout_name(args, args.ep))
    if exact:
        return exact, 1.0
    expert = box.speed.expert_parallel_factor if args.ep > 1 else 1.0
    same_attention = curves.get(_layout_name(args, 1))
    if same_attention:
        return same_attention, expert
    reference = box.speed.curves[0]
    return reference, expert * (_gpus_of(reference.layout) / args.tp) ** box.speed.gpu_exponent


def _interpolate(curve: Curve, streams: float) -> float:
    """Step time by linear interpolation, along the last segment beyond the end."""
    points = curve.points
    if len(points) == 1 or streams <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if streams <= x1 or (x1, y1) == points[-1]:
            return y0 + (y1 - y0) * (streams - x0) / (x1 - x0)
    raise AssertionError("unreachable: the last segment takes all")
