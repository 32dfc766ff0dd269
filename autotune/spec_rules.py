"""Checks between the parts of a study file: what each table may say beside the others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from autotune.search import Parameter, SearchSpace, SpaceError
from autotune.spec_problems import Complaint
from autotune.spec_space import value_complaint
from trials.argument_checks import CLAIMED_FLAGS, MODEL_FLAG, options_in, spellings_of
from trials.settings import (
    ENV_PREFIX,
    FLAG_PREFIX,
    SPECULATIVE_DETAILS,
    BenchPlan,
    Layout,
    ServerPlan,
    Settings,
)

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_VARIABLE = "is no name of an environment variable; use letters, digits and _"
_NEEDS_DRAFT = ("EAGLE3", "STANDALONE")
_ALGORITHM = "speculative_algorithm"


def plan_complaints(server: ServerPlan, space: SearchSpace, bench: BenchPlan) -> Iterator[Complaint]:
    """Everything in [server], [space] and [bench] that does not fit together."""
    yield from _ways_to_start(server)
    yield from _variables(server, space)
    yield from _gpus(server, space)
    yield from _fixed_and_tuned(server, space)
    yield from _speculation(server, space)
    yield from _levels(bench)


def finals_complaints(boots: int | None, trials: int | None) -> Iterator[Complaint]:
    """Finals that leave nothing of the night for the search."""
    if boots is not None and trials is not None and boots >= trials:
        message = (
            f"is {boots} of {trials} trials, so that nothing would be searched; "
            f"write less, 0 for no finals, or nothing to let the night choose"
        )
        yield Complaint(("finals", "boots"), message)


def known_good_complaints(space: SearchSpace, known_good: Sequence[Settings]) -> Iterator[Complaint]:
    """Known-good settings that lie outside the space, each with the line to add or to change."""
    for place, settings in enumerate(known_good):
        for name, value in settings.items():
            message = value_complaint(name, value) or _outside(space, name, value)
            if message:
                yield Complaint(("known_good", place, name), message)


def space_line(name: str, domain: object) -> str:
    """A line of [space], as one would write it."""
    return f"{_key(name)} = {_toml(domain)}"


def _ways_to_start(server: ServerPlan) -> Iterator[Complaint]:
    given = [way for way in ("command", "image", "box") if getattr(server, way) is not None]
    if len(given) > 1:
        yield Complaint(("server", given[1]), f"stands beside {given[0]}; keep one of command, image and box")
    if server.command == ():
        yield Complaint(("server", "command"), "is empty; write the words that start the server")


def _variables(server: ServerPlan, space: SearchSpace) -> Iterator[Complaint]:
    for name in server.env:
        if not _VARIABLE.fullmatch(name):
            yield Complaint(("server", "env"), f"{name!r} {_NO_VARIABLE}")
    for name in space.parameters:
        if name.startswith(ENV_PREFIX) and not _VARIABLE.fullmatch(name.removeprefix(ENV_PREFIX)):
            yield Complaint(("space", name), _NO_VARIABLE)


def _gpus(server: ServerPlan, space: SearchSpace) -> Iterator[Complaint]:
    gpus = server.gpus
    if gpus == "all":
        return
    if not gpus or len(set(gpus)) < len(gpus):
        yield Complaint(("server", "gpus"), 'must list different GPUs, e.g. [0, 1, 2, 3], or be "all"')
        return
    for layout in _choices(space, "layout"):
        needed = Layout.parse(str(layout)).gpus
        if needed > len(gpus):
            message = f"{layout!r} needs {needed} GPUs; [server] gpus lists {len(gpus)}: drop it or add GPUs"
            yield Complaint(("space", "layout"), message)


def _fixed_and_tuned(server: ServerPlan, space: SearchSpace) -> Iterator[Complaint]:
    fixed = set(options_in(server.args))
    for name in space.parameters:
        for flag in sorted(fixed.intersection(spellings_of(name))):
            message = f"{flag} stands in [server] args too; keep it in one of the two"
            yield Complaint(("space", name), message)
        if (variable := name.removeprefix(ENV_PREFIX)) != name and variable in server.env:
            yield Complaint(("space", name), "stands in [server] env too; keep it in one of the two")
        if name.startswith(FLAG_PREFIX) and (named := _owner_of(spellings_of(name)[0])):
            yield Complaint(("space", name), f"has a name of its own; write {named} instead")
    if MODEL_FLAG in fixed:
        yield Complaint(("server", "args"), f"{MODEL_FLAG} is written as model_path; take it out of args")


def _owner_of(flag: str) -> str | None:
    """The setting that has a flag under a name of its own."""
    return next((setting for setting, flags in CLAIMED_FLAGS.items() if flag in flags), None)


def _speculation(server: ServerPlan, space: SearchSpace) -> Iterator[Complaint]:
    algorithms = tuple(map(str, _choices(space, _ALGORITHM)))
    details = [name for name in SPECULATIVE_DETAILS if name in space.parameters]
    if details and not algorithms:
        line = space_line(_ALGORITHM, ["off", "EAGLE3"])
        yield Complaint(("space", details[0]), f"means nothing without an algorithm; add {line}")
    if server.draft_model_path is None:
        for algorithm in algorithms:
            if algorithm in _NEEDS_DRAFT:
                message = f'{algorithm} needs a draft model; add [speculation] draft_model_path = "..."'
                yield Complaint(("space", _ALGORITHM), message)


def _levels(bench: BenchPlan) -> Iterator[Complaint]:
    levels = bench.levels
    if not levels or len(set(levels)) < len(levels):
        yield Complaint(("bench", "levels"), "must be different numbers of streams, e.g. [1, 8, 48]")
    elif bench.main_level not in levels:
        known = ", ".join(map(str, levels))
        message = f"{bench.main_level} is not a level; write one of {known}, or add it to levels"
        yield Complaint(("bench", "main_level"), message)


def _outside(space: SearchSpace, name: str, value: Any) -> str | None:
    parameter = space.parameters.get(name)
    if parameter is None:
        return f"is not in [space]; add this line there: {space_line(name, [value])}"
    try:
        space.check({name: value})
    except SpaceError:
        widened = space_line(name, _widened(parameter, value))
        return f"{value!r} is outside the space ({parameter.describe()}); write there: {widened}"
    return None


def _widened(parameter: Parameter, value: Any) -> object:
    """The smallest change of a setting's domain that takes a value in."""
    distribution: Any = parameter.distribution
    if parameter.is_categorical:
        return [*distribution.choices, value]
    if not isinstance(value, int | float):
        return [distribution.low, distribution.high, value]
    domain = {"low": min(distribution.low, value), "high": max(distribution.high, value)}
    if distribution.step is None:
        return domain
    points = (distribution.low, distribution.high, value)
    return {**domain, "step": _common_step(distribution.step, [point - domain["low"] for point in points])}


def _common_step(step: float, distances: Sequence[float]) -> float:
    """The largest step that divides every distance, exact in decimal."""
    common = Decimal(str(step))
    for distance in distances:
        rest = Decimal(f"{distance:.12g}")
        while rest:
            common, rest = rest, common % rest
    return type(step)(common)


def _choices(space: SearchSpace, name: str) -> tuple[Any, ...]:
    parameter = space.parameters.get(name)
    return (parameter.values or ()) if parameter is not None else ()


def _key(name: str) -> str:
    return json.dumps(name) if "." in name else name


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
