"""Two running servers against each other, interleaved, so that what disturbs the machine disturbs both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from trials.outcome import Measurement
from trials.prompts import Prompt
from trials.recorder import StopSignal
from trials.settings import BenchPlan
from trials.throughput.intervals import CONFIDENCE
from trials.throughput.levels import OnLevel, measure_url

ROUNDS = 5


@dataclass(frozen=True)
class Comparison:
    """One load level.

    Attributes:
        first: Measurements of the first server, one a round.
        second: Measurements of the second server, one a round.
        ratio: Decode throughput of the second to the first, geometric mean over rounds.
        ratio_ci95: Its 95 % interval, Student's t over the rounds' log ratios; None with a single round.
    """

    level: int
    first: tuple[Measurement, ...]
    second: tuple[Measurement, ...]
    ratio: float
    ratio_ci95: tuple[float, float] | None


def compare_urls(
    first: str,
    second: str,
    levels: Sequence[int],
    bench: BenchPlan,
    prompts: Sequence[Prompt],
    *,
    rounds: int = ROUNDS,
    stop: StopSignal | None = None,
    on_level: OnLevel | None = None,
    api_key: str | None = None,
) -> list[Comparison]:
    """Measure both servers in turn, ``rounds`` times a level, each time the other one first.

    A level's time (``bench.max_seconds_per_level``) is that of one server, over all rounds.

    Raises:
        MeasureError: If a server fails; StopRequested and ValueError as in ``measure_url``.
    """
    part = bench.model_copy(update={"max_seconds_per_level": bench.max_seconds_per_level / rounds})
    comparisons = []
    for level in levels:
        if on_level is not None:
            on_level(level)
        sides: list[tuple[str, list[Measurement]]] = [(first, []), (second, [])]
        for turn in range(rounds):
            for url, seen in sides if turn % 2 == 0 else reversed(sides):
                seen += measure_url(url, (level,), part, prompts, stop=stop, seed=turn, api_key=api_key)
        comparisons.append(_compared(level, sides[0][1], sides[1][1]))
    return comparisons


def _compared(level: int, first: Sequence[Measurement], second: Sequence[Measurement]) -> Comparison:
    logs = np.log([b.decode_tok_s / a.decode_tok_s for a, b in zip(first, second, strict=True)])
    mean = float(logs.mean())
    interval = None
    if logs.size > 1:
        error = float(logs.std(ddof=1)) / np.sqrt(logs.size)
        half = float(stdtrit(logs.size - 1, (1 + CONFIDENCE) / 2)) * error
        interval = (float(np.exp(mean - half)), float(np.exp(mean + half)))
    return Comparison(level, tuple(first), tuple(second), float(np.exp(mean)), interval)
