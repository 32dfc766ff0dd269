"""The form for settings that somebody wants tried: one field for each setting of the space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from autotune.search import Parameter
from autotune.study_view import StudyView
from trials.settings import SettingValue


@dataclass(frozen=True)
class WishField:
    """One setting to choose.

    Attributes:
        value: What stands in the field at first: the best trial's value.
        choices: Values to choose from, None for a range.
    """

    name: str
    value: SettingValue | None
    choices: Sequence[SettingValue] | None
    low: float | None = None
    high: float | None = None
    step: float | None = None
    hint: str = ""


def wish_fields(study: StudyView) -> list[WishField]:
    """Fields in the space's order, filled in with the best settings so far."""
    best = study.verdict().best
    row = study.row(best) if best is not None else None
    settings = (row.settings if row else None) or {}
    return [_field(one, settings.get(one.name)) for one in study.space.parameters.values()]


def _field(parameter: Parameter, value: SettingValue | None) -> WishField:
    distribution = parameter.distribution
    if isinstance(distribution, CategoricalDistribution):
        return WishField(parameter.name, value, parameter.values)
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    return WishField(
        parameter.name,
        distribution.low if value is None else value,
        None,
        distribution.low,
        distribution.high,
        distribution.step,
        parameter.describe(),
    )
