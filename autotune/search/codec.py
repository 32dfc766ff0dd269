"""Settings as numbers: rows of grid positions for candidates, matrices of values for the models."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import FloatDistribution, IntDistribution

from autotune.search.parameters import Parameter, Settings, Value
from autotune.search.space import A2A_BACKEND, ALGORITHM, DRAFT_TOKENS, LAYOUT, STEPS, TOPK, SearchSpace

Rows: TypeAlias = NDArray[np.int64]
Matrix: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

CONTINUOUS_PLACES = 65
"""Places at which a range without a step is tried."""

_LOG_SPREAD = 8.0
"""Numbers that spread over this factor or more are compared by their logarithms."""

_SWITCHES = (LAYOUT, ALGORITHM, TOPK)
_SWITCHED = (STEPS, TOPK, DRAFT_TOKENS, A2A_BACKEND)


class Codec:
    """Translates between settings and numbers for one space.

    Attributes:
        names: Parameters in the order of the columns.
        grids: Per column, the values that can be proposed.
        categorical: Per column, whether values have no order.
    """

    def __init__(self, space: SearchSpace) -> None:
        self.space = space
        self.names = tuple(space.parameters)
        parameters = [space.parameters[name] for name in self.names]
        self.grids = tuple(_grid(parameter) for parameter in parameters)
        self.sizes = np.array([len(grid) for grid in self.grids])
        self.categorical: Mask = np.array([not parameter.is_numeric for parameter in parameters])
        self._numbers = tuple(self._column_numbers(at) for at in range(len(self.names)))
        self._logarithmic = tuple(
            bool(not self.categorical[at] and column.min() > 0 and column.max() / column.min() >= _LOG_SPREAD)
            for at, column in enumerate(self._numbers)
        )
        self._masks = self._activity_table()

    def index(self, name: str) -> int | None:
        """Column of a setting, None if the space lacks it."""
        return self.names.index(name) if name in self.names else None

    def draw(self, rng: np.random.Generator, count: int) -> Rows:
        """Uniform rows."""
        rows: Rows = (rng.random((count, len(self.names))) * self.sizes).astype(np.int64)
        return rows

    def row(self, settings: Mapping[str, Value]) -> Rows:
        """Grid positions nearest to the settings; absent ones at the first position."""
        return np.array([self._position(at, settings.get(name)) for at, name in enumerate(self.names)])

    def settings(self, row: Rows) -> Settings:
        """All values of a row, conditionals that do not count included."""
        return {name: self.grids[at][int(row[at])] for at, name in enumerate(self.names)}

    def activity(self, rows: Rows) -> Mask:
        """Per row and column, whether the value counts."""
        switches = tuple(
            rows[:, at] if (at := self.index(name)) is not None else np.zeros(len(rows), dtype=np.int64)
            for name in _SWITCHES
        )
        return self._masks[switches]

    def values(self, rows: Rows) -> Matrix:
        """Numbers of rows: raw value, or position of a category; NaN where it does not count."""
        matrix = np.stack([column[rows[:, at]] for at, column in enumerate(self._numbers)], axis=1)
        matrix[~self.activity(rows)] = np.nan
        return matrix

    def values_of(self, settings: Sequence[Mapping[str, Value]]) -> Matrix:
        """The same for settings, which may hold values that the space does not offer."""
        if not settings:
            return np.empty((0, len(self.names)))
        rows = np.stack([self.row(one) for one in settings])
        matrix = self.values(rows)
        for at, name in enumerate(self.names):
            for line, one in enumerate(settings):
                if name not in one:
                    matrix[line, at] = np.nan
                elif not np.isnan(matrix[line, at]):
                    matrix[line, at] = self._number(at, one[name])
        return matrix

    def unit(self, values: Matrix) -> Matrix:
        """Numeric columns scaled to 0..1 (by logarithm where they spread widely); categories as they are."""
        scaled = values.copy()
        for at, column in enumerate(self._numbers):
            if self.categorical[at]:
                continue
            low, high, middle = column.min(), column.max(), values[:, at]
            if self._logarithmic[at]:
                low, high, middle = np.log(low), np.log(high), np.log(np.maximum(middle, low * 1e-3))
            scaled[:, at] = (middle - low) / (high - low) if high > low else 0.5
        scaled[np.isnan(values)] = np.nan
        return scaled

    def _column_numbers(self, at: int) -> Matrix:
        grid = self.grids[at]
        if self.categorical[at]:
            return np.arange(len(grid), dtype=float)
        return np.array([float(value) for value in grid])

    def _number(self, at: int, value: Value) -> float:
        if not self.categorical[at]:
            return float(value)
        return float(self.grids[at].index(value)) if value in self.grids[at] else -1.0

    def _position(self, at: int, value: Value | None) -> int:
        grid = self.grids[at]
        if value is None:
            return 0
        if self.categorical[at] or isinstance(value, str):
            return grid.index(value) if value in grid else 0
        return int(np.argmin(np.abs(self._numbers[at] - float(value))))

    def _activity_table(self) -> Mask:
        """For every layout, algorithm and topk, which columns count."""
        sizes = [len(self.grids[at]) if (at := self.index(name)) is not None else 1 for name in _SWITCHES]
        table = np.ones((*sizes, len(self.names)), dtype=bool)
        base = {name: grid[0] for name, grid in zip(self.names, self.grids, strict=True)}
        for place in itertools.product(*(range(size) for size in sizes)):
            switched = {
                name: self.grids[self.names.index(name)][position]
                for name, position in zip(_SWITCHES, place, strict=True)
                if name in base
            }
            for name in _SWITCHED:
                if name in base:
                    table[(*place, self.names.index(name))] = self._matters(name, {**base, **switched})
        return table

    def _matters(self, name: str, settings: Settings) -> bool:
        grid = self.grids[self.names.index(name)]
        if len(grid) == 1:
            return name in self.space.active(settings)
        keys = {self.space.canonical({**settings, name: value}) for value in grid}
        return len(keys) > 1


def _grid(parameter: Parameter) -> tuple[Value, ...]:
    values = parameter.values
    if values is not None:
        return values
    distribution = parameter.distribution
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high = distribution.low, distribution.high
    spread = np.geomspace if distribution.log else np.linspace
    places = spread(low, high, CONTINUOUS_PLACES).clip(low, high)
    if isinstance(distribution, FloatDistribution) and distribution.step is None:
        return tuple(float(number) for number in places)
    step = distribution.step or 1
    snapped = {low + step * round((float(number) - low) / step) for number in places}
    return tuple(sorted(parameter.clean(number) for number in snapped if number <= high))
