"""The user's own settings, completed: what every result of a study is compared with."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from autotune.search import SpaceError, Value
from autotune.spec import StudySpec
from autotune.spec_problems import SpecError, SpecProblem
from autotune.spec_rules import space_line
from trials.argument_checks import claimed_by
from trials.flags import FlagCatalogue
from trials.settings import SPECULATION_OFF, Settings, SettingValue

_COMPOSITE_DEFAULTS: dict[str, SettingValue] = {
    "layout": "tp1",
    "speculative_algorithm": SPECULATION_OFF,
    "all_reduce": "default",
}


def baseline_settings(spec: StudySpec, catalogue: FlagCatalogue | None) -> Settings:
    """The first known-good settings, completed; without any, none: the command as it is given.

    Raises:
        SpecError: See ``known_good_settings``.
    """
    return next(iter(known_good_settings(spec, catalogue)), {})


def known_good_settings(spec: StudySpec, catalogue: FlagCatalogue | None) -> tuple[Settings, ...]:
    """All known-good settings: keys that count, each lacking one filled with the server's default.

    Args:
        catalogue: The server's flags with their defaults, or None when they could not be read.

    Raises:
        SpecError: If a default is unknown or lies outside the space; names every such key and the line
            to add.
    """
    completed = tuple(_completed(spec, written, catalogue) for written in spec.known_good)
    problems: list[SpecProblem] = []
    for place, settings in enumerate(completed):
        problems += _gaps(spec, place, settings, catalogue)
    if problems:
        raise SpecError(problems)
    return completed


def server_default(setting: str, catalogue: FlagCatalogue | None) -> SettingValue | None:
    """What the server does when a setting is left out; None when it decides by itself or is not asked."""
    if setting in _COMPOSITE_DEFAULTS:
        return _COMPOSITE_DEFAULTS[setting]
    flags = claimed_by(setting, catalogue) if catalogue is not None else []
    if not flags or flags[0].default is None:
        return None
    try:
        value = ast.literal_eval(flags[0].default)
    except (ValueError, SyntaxError):
        value = flags[0].default
    return value if isinstance(value, bool | int | float | str) else None


def _completed(spec: StudySpec, written: Settings, catalogue: FlagCatalogue | None) -> Settings:
    """Fill gaps one by one, since the speculation's details count only once its algorithm is known."""
    settings = spec.space.check(written)
    unfillable: set[str] = set()
    while gaps := [name for name in spec.space.missing(settings) if name not in unfillable]:
        filled = _default_inside(spec, gaps[0], catalogue)
        if filled is None:
            unfillable.add(gaps[0])
        else:
            settings[gaps[0]] = filled
    return spec.space.active(settings)


def _default_inside(spec: StudySpec, name: str, catalogue: FlagCatalogue | None) -> Value | None:
    default = server_default(name, catalogue)
    if default is None:
        return None
    try:
        return spec.space.check({name: default})[name]
    except SpaceError:
        return None


def _gaps(
    spec: StudySpec, place: int, settings: Settings, catalogue: FlagCatalogue | None
) -> Iterator[SpecProblem]:
    for name in spec.space.missing(settings):
        parameter = spec.space.parameters[name]
        default = server_default(name, catalogue)
        reason = (
            "the server chooses it by itself"
            if default is None
            else f"the server's default, {default!r}, is outside the space"
        )
        distribution: Any = parameter.distribution
        values = parameter.values or (distribution.low,)
        line = space_line(name, values[0])
        message = f"is missing and {reason}; add a line such as: {line}   # {parameter.describe()}"
        yield spec.problem(("known_good", place, name), message)
