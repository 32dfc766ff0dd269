"""One tunable: its values and the Optuna distribution that stands for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TypeAlias, cast

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import BaseTrial

Value: TypeAlias = bool | int | float | str
Settings: TypeAlias = dict[str, Value]

MANY = 1000
"""Ranges with more places than this are treated as continuous."""

_TOLERANCE = 1e-9
_RANGE_KEYS = ("low", "high", "step")


class SpaceError(ValueError):
    """The space, or settings held against it, are wrong.

    Attributes:
        setting: The key at fault.
    """

    def __init__(self, setting: str, sentence: str) -> None:
        super().__init__(sentence)
        self.setting = setting


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True)
class Parameter:
    """A named distribution with the questions that a search asks of it.

    Attributes:
        name: The setting.
        distribution: Categorical for a list, Int or Float for a range.
    """

    name: str
    distribution: BaseDistribution

    @classmethod
    def from_table(cls, name: str, entry: object) -> Parameter:
        """Read what stands behind a key of ``[space]``: a list, or ``{low, high[, step]}``.

        Raises:
            SpaceError: If the entry is neither, is empty, or its step does not fit.
        """
        if isinstance(entry, list | tuple):
            return cls(name, _choices(name, entry))
        if isinstance(entry, Mapping):
            return cls(name, _range(name, entry))
        raise SpaceError(
            name, f"[space] {name} is neither a list nor a range; write [a, b] or {{ low = a, high = b }}"
        )

    @property
    def is_categorical(self) -> bool:
        return isinstance(self.distribution, CategoricalDistribution)

    @cached_property
    def values(self) -> tuple[Value, ...] | None:
        """Every value in order, or None for a range without a step, or with more than ``MANY`` places."""
        distribution = self.distribution
        if isinstance(distribution, CategoricalDistribution):
            return tuple(cast("Value", choice) for choice in distribution.choices)
        if isinstance(distribution, IntDistribution):
            places = range(distribution.low, distribution.high + 1, distribution.step)
            return tuple(places) if len(places) <= MANY else None
        assert isinstance(distribution, FloatDistribution)
        if distribution.step is None:
            return (distribution.low,) if distribution.single() else None
        low, step = Decimal(str(distribution.low)), Decimal(str(distribution.step))
        steps = int((Decimal(str(distribution.high)) - low) / step)
        return tuple(float(low + step * count) for count in range(steps + 1)) if steps < MANY else None

    @property
    def is_numeric(self) -> bool:
        """True for ranges, and for lists of numbers (at least two)."""
        if not self.is_categorical:
            return True
        values = self.values or ()
        return len(values) > 1 and all(_is_number(value) for value in values)

    def clean(self, value: Value) -> Value:
        """The value as the space writes it (0.9 for 0.9000000000000001).

        Raises:
            SpaceError: If the value lies outside the space.
        """
        if not isinstance(self.distribution, CategoricalDistribution):
            return self._inside(value)
        for known in self.values or ():
            if _same(known, value):
                return known
        raise self._outside(value)

    def describe(self) -> str:
        """The values in words, for messages."""
        distribution = self.distribution
        if isinstance(distribution, CategoricalDistribution):
            return "one of " + ", ".join(str(choice) for choice in distribution.choices)
        assert isinstance(distribution, IntDistribution | FloatDistribution)
        step = "" if distribution.step in (None, 1) else f" in steps of {distribution.step:g}"
        return f"{distribution.low:g} to {distribution.high:g}{step}"

    def suggest(self, trial: BaseTrial) -> Value:
        """Ask the trial for a value."""
        distribution = self.distribution
        if isinstance(distribution, CategoricalDistribution):
            choice: Value = trial.suggest_categorical(self.name, distribution.choices)  # type: ignore[assignment]  # None is refused
            return choice
        if isinstance(distribution, IntDistribution):
            return trial.suggest_int(self.name, distribution.low, distribution.high, step=distribution.step)
        assert isinstance(distribution, FloatDistribution)
        value = trial.suggest_float(self.name, distribution.low, distribution.high, step=distribution.step)
        return self.clean(value)

    def _inside(self, value: Value) -> Value:
        distribution = self.distribution
        assert isinstance(distribution, FloatDistribution | IntDistribution)
        low, high, step = distribution.low, distribution.high, distribution.step
        if not _is_number(value):
            raise self._outside(value)
        number = float(value)
        place = 0 if step is None else round((number - low) / step)
        snapped = number if step is None else float(Decimal(str(low)) + Decimal(str(step)) * place)
        if abs(snapped - number) > _TOLERANCE or not low - _TOLERANCE <= snapped <= high + _TOLERANCE:
            raise self._outside(value)
        return int(snapped) if isinstance(distribution, IntDistribution) else snapped

    def _outside(self, value: Value) -> SpaceError:
        return SpaceError(self.name, f"{self.name} = {value!r} is outside the space: {self.describe()}")


def _same(known: Value, value: Value) -> bool:
    if isinstance(known, bool) or isinstance(value, bool):
        return known is value
    if isinstance(known, float) and isinstance(value, int | float):
        return math.isclose(known, value, rel_tol=1e-9, abs_tol=1e-12)
    return known == value


def _choices(name: str, entry: list[object] | tuple[object, ...]) -> CategoricalDistribution:
    if not entry:
        raise SpaceError(name, f"[space] {name} is an empty list; give it at least one value")
    choices: list[Value] = []
    for value in entry:
        if not isinstance(value, bool | int | float | str):
            raise SpaceError(
                name, f"[space] {name} holds {value!r}; only text, numbers and true/false can be tried"
            )
        if any(_same(known, value) for known in choices):
            raise SpaceError(name, f"[space] {name} lists {value!r} twice; write it once")
        choices.append(value)
    return CategoricalDistribution(choices)


def _range(name: str, entry: Mapping[str, object]) -> BaseDistribution:
    for key in entry:
        if key not in _RANGE_KEYS:
            raise SpaceError(
                name, f"[space] {name} has an unknown key {key!r}; a range has low, high and step"
            )
    numbers = {key: _number(name, key, entry) for key in _RANGE_KEYS if key in entry or key != "step"}
    low, high, step = numbers["low"], numbers["high"], numbers.get("step")
    if low > high:
        raise SpaceError(name, f"[space] {name} is empty: low = {low:g} is above high = {high:g}")
    whole = isinstance(low, int) and isinstance(high, int)
    if step is not None:
        _check_step(name, low, high, step, whole)
    if whole:
        return IntDistribution(int(low), int(high), step=int(step or 1))
    return FloatDistribution(float(low), float(high), step=None if step is None else float(step))


def _number(name: str, key: str, entry: Mapping[str, object]) -> int | float:
    if key not in entry:
        raise SpaceError(name, f"[space] {name} has no {key}; write {{ low = a, high = b }} or a list")
    value = entry[key]
    if not _is_number(value):
        raise SpaceError(name, f"[space] {name}: {key} = {value!r} is not a number")
    assert isinstance(value, int | float)
    return value


def _check_step(name: str, low: float, high: float, step: float, whole: bool) -> None:
    if step <= 0:
        raise SpaceError(name, f"[space] {name}: step = {step:g} must be above 0")
    if whole and not isinstance(step, int):
        raise SpaceError(
            name,
            f"[space] {name}: step = {step:g} does not fit whole numbers; write low and high with a point",
        )
    exact_low, exact_high, exact_step = (Decimal(str(number)) for number in (low, high, step))
    rest = (exact_high - exact_low) % exact_step
    if rest:
        raise SpaceError(
            name,
            f"[space] {name}: step = {step:g} does not lead from {low:g} to {high:g}; "
            f"the nearest high is {float(exact_high - rest):g}",
        )
