"""The memory window: how low and how high the memory fraction may be, learned from figures and from crashes.

All in shares of a card. Three one-sided models (``censored.py``): the fraction that weights and draft need at
least; the share that start-up takes beside the fraction's pool; and the share that serving takes on top. Each
grows with the settings that can only cost memory, never shrinks. A good boot gives exact figures, a crash a
bound, and a crash at a later stage says that the earlier ones had enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autotune.search.censored import CensoredRegression, Evidence, Prior, chance_below
from autotune.search.codec import Codec, Matrix
from autotune.search.history import STAGES, Observation
from autotune.search.load import FRACTION, GRAPHS, RUNNING, streams, under_load
from autotune.search.space import ALGORITHM, ALL_REDUCE, DRAFT_TOKENS, LAYOUT, STEPS

CHUNK = "chunked_prefill_size"

TOO_LOW = frozenset({"kv_pool_too_small"})
TOO_HIGH = frozenset({"oom_kv_pool", "oom_graph_capture"})
TOO_HIGH_SERVING = frozenset({"oom_runtime"})
MEMORY_KINDS = TOO_LOW | TOO_HIGH | TOO_HIGH_SERVING

KV_POOL = STAGES.index("kv_pool")
GRAPH_CAPTURE = STAGES.index("graph_capture")

_SEEN_SCATTER = 0.003
_BOUND_SCATTER = 0.006
_DEVIATIONS = {LAYOUT: 0.12, ALGORITHM: 0.06, ALL_REDUCE: 0.015}
_OTHER_DEVIATION = 0.004
_LEAST_POOL = 0.02
_OVER_WEIGHTS = 0.004
_FEWEST_PER_STEP, _SPAN_PER_STEP = 0.25, 64.0


def card_gib(seen: Observation) -> float | None:
    """Size of the memory that the fraction refers to: the static pool over the fraction."""
    parts = [_number(seen.boot, name) for name in ("weights_gib", "draft_gib", "kv_gib")]
    fraction = seen.settings.get(FRACTION)
    if parts[0] is None or parts[2] is None or not isinstance(fraction, int | float) or not fraction:
        return None
    return (parts[0] + (parts[1] or 0.0) + parts[2]) / float(fraction)


def printed_least(seen: Observation) -> float | None:
    """Least fraction that the log of a crash asks for."""
    failure = seen.failure
    return failure.raise_fraction_above if failure is not None and failure.kind in TOO_LOW else None


def weights_share(seen: Observation) -> float | None:
    """Share of the card that weights and draft took; the least fraction lies a little above."""
    card, weights = card_gib(seen), _number(seen.boot, "weights_gib")
    if card is None or weights is None:
        return None
    return (weights + (_number(seen.boot, "draft_gib") or 0.0)) / card


def left_share(seen: Observation) -> float | None:
    """Share of the card left after start-up, None where unknown."""
    card, left = card_gib(seen), _number(seen.boot, "left_gib")
    return None if card is None or left is None else left / card


def _number(figures: Mapping[str, Any], name: str) -> float | None:
    value = figures.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class MemoryChances:
    """Probability per settings of having enough memory, at three points of a trial."""

    pool: Matrix
    start_up: Matrix
    serving: Matrix

    @property
    def all(self) -> Matrix:
        return self.pool * self.start_up * self.serving


class MemoryWindow:
    """The three models, fitted to what is known.

    Args:
        codec: Of the space.
        observations: Boots; those without a memory fraction of their own are passed over.
    """

    def __init__(self, codec: Codec, observations: Iterable[Observation]) -> None:
        self._codec = codec
        at = codec.index(FRACTION)
        self._known = [seen for seen in observations if at is None or FRACTION in seen.settings]
        self._values = codec.values_of([seen.settings for seen in self._known])
        self._streams = streams(self._known)
        self._pool = self._fit_pool()
        self._start_up = self._fit_start_up()
        self._serving = self._fit_serving()

    def chances(self, values: Matrix) -> MemoryChances:
        """Of settings given as ``Codec.values`` gives them."""
        fraction = self._fraction(values)
        used, unsure = self._start_up.predict(self._growth_features(values))
        extra, extra_unsure = self._serving.predict(self._serving_features(values))
        both = np.sqrt(unsure**2 + extra_unsure**2)
        start_up = chance_below(1.0 - fraction, used, unsure)
        together = chance_below(1.0 - fraction, used + extra, both)
        serving = np.minimum(together / np.maximum(start_up, 1e-9), 1.0)
        if self._codec.index(FRACTION) is None:
            return MemoryChances(np.ones(len(values)), start_up, serving)
        pool = chance_below(fraction, *self._pool.predict(self._static_features(values)))
        return MemoryChances(pool, start_up, serving)

    def inputs(self, values: Matrix) -> Matrix:
        """``Codec.unit`` with some settings in the terms that throughput depends on, logarithmic.

        The memory fraction becomes what it leaves for the KV pool, whatever weights and draft take; draft
        tokens become tokens per step, whatever the depth; both 0 to 1. For running requests and the graph
        size see ``load.under_load``; as they are while the load is not known.
        """
        units = self._codec.unit(values)
        fraction, tokens = self._codec.index(FRACTION), self._codec.index(DRAFT_TOKENS)
        if fraction is not None:
            least, _ = self._pool.predict(self._static_features(values))
            share = np.clip(values[:, fraction] - least, _LEAST_POOL, 1.0)
            units[:, fraction] = np.log(share / _LEAST_POOL) / -np.log(_LEAST_POOL)
        if tokens is not None:
            per_step = (values[:, tokens] - 1.0) / self._column(values, STEPS)
            scaled = np.log(np.maximum(per_step, 1e-3) / _FEWEST_PER_STEP) / np.log(_SPAN_PER_STEP)
            usable = ~np.isnan(per_step)
            units[usable, tokens] = np.clip(scaled[usable], 0.0, 1.0)
        if self._streams is not None:
            under_load(self._codec, values, units, self._streams)
        return units

    def _fraction(self, values: Matrix) -> Matrix:
        at = self._codec.index(FRACTION)
        return np.zeros(len(values)) if at is None else values[:, at]

    def _fit_pool(self) -> CensoredRegression:
        features = self._static_features(self._values)
        collected: list[tuple[int, float, float]] = []
        for line, seen in enumerate(self._known):
            fraction = float(self._fraction(self._values)[line])
            printed, weights = printed_least(seen), weights_share(seen)
            if printed is not None:
                collected.append((line, printed, 0.0))
            elif weights is not None:
                collected.append((line, weights + _OVER_WEIGHTS, 0.0))
            if _failed(seen, TOO_LOW):
                collected.append((line, fraction, 1.0))
            elif seen.passed > KV_POOL:
                collected.append((line, fraction, -1.0))
        low, high = self._fraction_range()
        prior = self._static_prior(low + 0.2 * (high - low), 0.4 * (high - low) + 0.01)
        return CensoredRegression(prior, _evidence(features, collected), _SEEN_SCATTER)

    def _fit_start_up(self) -> CensoredRegression:
        features = self._growth_features(self._values)
        room = 1.0 - self._fraction(self._values)
        collected: list[tuple[int, float, float]] = []
        for line, seen in enumerate(self._known):
            left = left_share(seen)
            if left is not None:
                collected.append((line, room[line] - left, 0.0))
            elif _failed(seen, TOO_HIGH):
                collected.append((line, room[line], 1.0))
            elif seen.passed > GRAPH_CAPTURE:
                collected.append((line, room[line], -1.0))
        return CensoredRegression(self._growth_prior(), _evidence(features, collected), _SEEN_SCATTER)

    def _fit_serving(self) -> CensoredRegression:
        features = self._serving_features(self._values)
        collected: list[tuple[int, float, float]] = []
        if self._known:
            used, _ = self._start_up.predict(self._growth_features(self._values))
            room = 1.0 - self._fraction(self._values) - used
        for line, seen in enumerate(self._known):
            left = left_share(seen)
            rest = left if left is not None else float(room[line])
            if _failed(seen, TOO_HIGH_SERVING):
                collected.append((line, rest, 1.0))
            elif seen.ending in ("good", "stopped"):
                collected.append((line, rest, -1.0))
        mean = np.array([0.004, 0.012, 0.006])
        prior = Prior(mean, np.array([0.01, 0.04, 0.03]), np.ones(3, dtype=bool))
        return CensoredRegression(prior, _evidence(features, collected), _BOUND_SCATTER)

    def _fraction_range(self) -> tuple[float, float]:
        at = self._codec.index(FRACTION)
        if at is None:
            return 0.0, 1.0
        numbers = [float(value) for value in self._codec.grids[at]]
        return min(numbers), max(numbers)

    def _one_hot(self, values: Matrix) -> tuple[Matrix, list[float]]:
        """A column per category, and how much each may move memory."""
        columns, deviations = [np.ones(len(values))], [0.0]
        for at, name in enumerate(self._codec.names):
            if not self._codec.categorical[at]:
                continue
            for position in range(len(self._codec.grids[at])):
                columns.append((values[:, at] == position).astype(float))
                deviations.append(_DEVIATIONS.get(name, _OTHER_DEVIATION))
        return np.stack(columns, axis=1), deviations

    def _static_features(self, values: Matrix) -> Matrix:
        return self._one_hot(values)[0]

    def _static_prior(self, mean: float, deviation: float) -> Prior:
        deviations = np.array(self._one_hot(self._values)[1])
        deviations[0] = deviation
        means = np.zeros(len(deviations))
        means[0] = mean
        return Prior(means, deviations, np.zeros(len(deviations), dtype=bool))

    def _growth(self, values: Matrix, name: str) -> Matrix:
        """A setting as a share of its largest value, 0 where it does not count."""
        at = self._codec.index(name)
        if at is None or self._codec.categorical[at]:
            return np.zeros(len(values))
        largest = max(float(value) for value in self._codec.grids[at])
        return np.nan_to_num(np.maximum(values[:, at], 0.0) / max(largest, 1e-9))

    def _draft_tokens(self, values: Matrix) -> Matrix:
        """Draft tokens as a share of 16; with topk 1 they are steps + 1."""
        numbers = {name: self._column(values, name) for name in (DRAFT_TOKENS, STEPS)}
        tokens = np.where(np.isnan(numbers[DRAFT_TOKENS]), numbers[STEPS] + 1.0, numbers[DRAFT_TOKENS])
        return np.nan_to_num(tokens) / 16.0

    def _column(self, values: Matrix, name: str) -> Matrix:
        at = self._codec.index(name)
        return np.full(len(values), np.nan) if at is None else values[:, at]

    def _growth_features(self, values: Matrix) -> Matrix:
        graphs, tokens = self._growth(values, GRAPHS), self._draft_tokens(values)
        growing = [
            graphs,
            graphs * tokens,
            self._growth(values, CHUNK),
            self._growth(values, RUNNING),
            tokens,
        ]
        return np.concatenate([np.stack(growing, axis=1), self._one_hot(values)[0]], axis=1)

    def _growth_prior(self) -> Prior:
        _, deviations = self._one_hot(self._values)
        whole = self._codec.index(FRACTION) is not None
        deviations = [min(deviation, 0.02) for deviation in deviations]
        deviations[0] = 0.04 if whole else 0.5
        means = np.zeros(5 + len(deviations))
        means[:5] = [0.02, 0.01, 0.003, 0.003, 0.003]
        means[5] = 0.05 if whole else 0.4
        held = np.zeros(len(means), dtype=bool)
        held[:5] = True
        return Prior(means, np.array([0.06, 0.06, 0.01, 0.01, 0.01, *deviations]), held)

    def _serving_features(self, values: Matrix) -> Matrix:
        ones = np.ones(len(values))
        return np.stack([ones, self._growth(values, CHUNK), self._growth(values, RUNNING)], axis=1)


def _failed(seen: Observation, kinds: frozenset[str]) -> bool:
    return seen.failure is not None and seen.failure.kind in kinds


def _evidence(features: Matrix, collected: list[tuple[int, float, float]]) -> Evidence:
    lines = [line for line, _, _ in collected]
    side = np.array([side for _, _, side in collected])
    deviation = np.where(side == 0, _SEEN_SCATTER, _BOUND_SCATTER)
    return Evidence(features[lines], np.array([bound for _, bound, _ in collected]), side, deviation)
