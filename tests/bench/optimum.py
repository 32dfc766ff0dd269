"""The best settings of an analytic box, by many climbs from random starts (no noise, no boots counted)."""

from __future__ import annotations

from functools import cache

import numpy as np

from autotune.search import SearchSpace, Settings
from autotune.search.parameters import Parameter, Value
from tests.bench.analytic import AnalyticBox

GRID = 41
"""Places at which a range without a step is looked at."""


def places(parameter: Parameter) -> tuple[Value, ...]:
    values = parameter.values
    if values is not None:
        return values
    low, high = parameter.distribution.low, parameter.distribution.high  # type: ignore[attr-defined]  # a range
    return tuple(float(number) for number in np.linspace(low, high, GRID))


def climb_pairs(
    box: AnalyticBox, grid: dict[str, tuple[Value, ...]], start: tuple[float, Settings]
) -> tuple[float, Settings]:
    """Climb on, two settings at a time, until nothing improves."""
    value, best = start
    names = list(grid)
    moves = [(first, second) for at, first in enumerate(names) for second in names[at + 1 :]]
    improved = True
    while improved:
        improved = False
        for first, second in moves:
            for one in grid[first]:
                for other in grid[second]:
                    trial = {**best, first: one, second: other}
                    if (found := box.true_value(trial)) > value * (1 + 1e-9):
                        best, value, improved = trial, found, True
    return value, best


def climb(box: AnalyticBox, grid: dict[str, tuple[Value, ...]], start: Settings) -> tuple[float, Settings]:
    """Climb one setting at a time until nothing improves."""
    best, value = dict(start), box.true_value(start)
    improved = True
    while improved:
        improved = False
        for name, values in grid.items():
            for other in values:
                trial = {**best, name: other}
                if (found := box.true_value(trial)) > value * (1 + 1e-9):
                    best, value, improved = trial, found, True
    return value, best


@cache
def optimum(box_name: str, seed: int = 0) -> tuple[float, Settings]:
    """Best value and settings of a registered box (see ``register``)."""
    box = _BOXES[box_name]
    space = SearchSpace.from_dict(box.table)
    grid = {name: places(parameter) for name, parameter in space.parameters.items()}
    rng = np.random.default_rng(seed)
    draws = [
        {name: values[rng.integers(len(values))] for name, values in grid.items()} for _ in range(20_000)
    ]
    draws.sort(key=box.true_value, reverse=True)
    tops = sorted((climb(box, grid, start) for start in draws[:60]), key=lambda found: found[0], reverse=True)
    return max((climb_pairs(box, grid, top) for top in tops[:3]), key=lambda found: found[0])


_BOXES: dict[str, AnalyticBox] = {}


def register(box: AnalyticBox) -> AnalyticBox:
    """Make a box known to ``optimum`` under its name."""
    _BOXES[box.name] = box
    return box
