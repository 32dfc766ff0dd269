"""Limits that a winner must satisfy, learned from what good boots measured; nothing crashes for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from autotune.search.censored import chance_below
from autotune.search.codec import Codec, Matrix
from autotune.search.history import Observation, main_measurement
from autotune.search.memory import MemoryWindow
from autotune.search.objective import GaussianProcess, ScalePrior, few_enough

Figure: TypeAlias = Callable[[Observation], float | None]

_FEWEST = 3
"""Boots that a model of a figure needs."""


def _measured(*path: str) -> Figure:
    def read(seen: Observation) -> float | None:
        found: Any = main_measurement(seen)
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return float(found) if isinstance(found, int | float) else None

    return read


def _kv_tokens(seen: Observation) -> float | None:
    found = seen.boot.get("kv_tokens")
    return float(found) if isinstance(found, int | float) else None


FIGURES: dict[str, tuple[Figure, int]] = {
    "min_kv_tokens": (_kv_tokens, 1),
    "max_ttft_p50_ms": (_measured("ttft_ms", "p50"), -1),
    "max_ttft_p95_ms": (_measured("ttft_ms", "p95"), -1),
    "max_itl_p95_ms": (_measured("itl_ms", "p95"), -1),
    "max_tpot_p95_ms": (_measured("tpot_ms", "p95"), -1),
    "min_accept_length": (_measured("accept_length"), 1),
    "min_per_stream_tok_s": (_measured("per_stream_tok_s"), 1),
}
"""Per limit: the figure that it binds, and 1 where more is better."""


def check_limits(limits: Mapping[str, float | None]) -> dict[str, float]:
    """The limits that are set.

    Raises:
        ValueError: If a limit is not one of ``FIGURES``.
    """
    for name in limits:
        if name not in FIGURES:
            raise ValueError(f"[limits] {name} is not a limit; write one of {', '.join(FIGURES)}")
    return {name: float(bound) for name, bound in limits.items() if bound is not None}


def satisfies(seen: Observation, limits: Mapping[str, float]) -> bool:
    """Whether a boot kept every limit, as far as measured."""
    for name, bound in limits.items():
        read, sign = FIGURES[name]
        figure = read(seen)
        if figure is not None and sign * figure < sign * bound:
            return False
    return True


@dataclass(frozen=True)
class _Model:
    process: GaussianProcess
    bound: float
    sign: int


class LimitModel:
    """Probability of keeping the limits.

    Args:
        codec: Of the space.
        window: The memory window.
        good: Boots that were measured.
        limits: As ``check_limits`` returns them.
    """

    def __init__(
        self, codec: Codec, window: MemoryWindow, good: Sequence[Observation], limits: Mapping[str, float]
    ) -> None:
        self._models = [
            model
            for name, bound in limits.items()
            if (model := _fit(codec, window, good, name, bound)) is not None
        ]

    def chances(self, units: Matrix) -> Matrix:
        """Of settings given as ``MemoryWindow.inputs`` gives them."""
        together = np.ones(len(units))
        for model in self._models:
            mean, deviation = model.process.predict(units)
            below = chance_below(np.full(len(units), model.bound), mean, deviation)
            together *= below if model.sign < 0 else 1.0 - below
        return together


def _fit(
    codec: Codec, window: MemoryWindow, good: Sequence[Observation], name: str, bound: float
) -> _Model | None:
    read, sign = FIGURES[name]
    seen = [(one.settings, figure) for one in good if (figure := read(one)) is not None and figure > 0]
    if len(seen) < _FEWEST or all(figure == seen[0][1] for _, figure in seen):
        return None
    figures = np.log([figure for _, figure in seen])
    kept = few_enough(sign * figures)
    units = window.inputs(codec.values_of([seen[at][0] for at in kept]))
    process = GaussianProcess(units, figures[kept], np.ones(len(kept)), codec.categorical, ScalePrior(0.05))
    return _Model(process, math.log(bound), sign)
