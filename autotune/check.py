"""What a study would do, and what is wrong with it, before anything boots."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autotune.baseline import known_good_settings
from autotune.search import Parameter, SearchSpace, Value
from autotune.spec import StudySpec
from autotune.spec_problems import SpecError, SpecProblem
from trials.argument_checks import check_args, check_names, conflicts
from trials.command import build_command, user_endpoint
from trials.flags import CatalogueError, FlagCatalogue, load_catalogue
from trials.problems import Problem, SettingError
from trials.secrets import redact_argv, redact_env
from trials.settings import SPECULATIVE_DETAILS, ServerPlan, Settings

Forbidden = Callable[[Settings], str | None]

_SAMPLES = 4000
_CONDITIONAL = ("speculative_algorithm", *SPECULATIVE_DETAILS)
_CONDITIONS = {
    "speculative_num_steps": "with speculation, except NGRAM",
    "speculative_eagle_topk": "with speculation, except NGRAM",
    "speculative_num_draft_tokens": "with speculation; with topk 1 it is steps + 1",
}


@dataclass(frozen=True)
class Tunable:
    """One line of the space.

    Attributes:
        values: In words.
        condition: When it counts; empty for always.
    """

    name: str
    values: str
    condition: str


@dataclass(frozen=True)
class Refusal:
    """A part of the space that is known to be impossible, and is never booted.

    Attributes:
        reason: One sentence; where only its numbers vary, one of several.
        share: Of all settings, 0 to 1.
    """

    reason: str
    share: float


@dataclass(frozen=True)
class StudyCheck:
    """What ``autotune check`` shows.

    Attributes:
        combinations: Different servers that the space can start, None when a range has no step.
        baseline: None when it is not complete; the problems then say what is missing.
        command: The baseline's command line and variables; empty when it cannot be built.
    """

    study: str
    file: Path
    simulated: bool
    server: str
    budget: str
    load: str
    limits: Mapping[str, float]
    tunables: Sequence[Tunable]
    combinations: int | None
    baseline: Settings | None
    known_good: int
    command: Sequence[str]
    env: Mapping[str, str]
    refusals: Sequence[Refusal]
    problems: Sequence[SpecProblem]


def check_study(spec: StudySpec, cache: Path, forbidden: Forbidden) -> StudyCheck:
    """Ask the server what it accepts and hold the whole study against it.

    Args:
        cache: Where servers' answers are kept.
        forbidden: The reason why settings can never run, or None.
    """
    problems: list[SpecProblem] = []
    catalogue: FlagCatalogue | None = None
    try:
        catalogue = load_catalogue(spec.server, cache)
        problems += _server_problems(spec, catalogue)
    except CatalogueError as error:
        problems.append(spec.problem(("server", _way_to_start(spec.server)), str(error)))
    baseline: Settings | None = None
    known_good: tuple[Settings, ...] = ()
    try:
        known_good = known_good_settings(spec, catalogue)
        baseline = next(iter(known_good), {})
    except SpecError as error:
        problems += error.problems
    command, env = _baseline_command(spec, catalogue, baseline)
    return StudyCheck(
        study=spec.name,
        file=spec.file,
        simulated=spec.server.simulated,
        server=_server_words(spec.server, catalogue),
        budget=_budget_words(spec),
        load=_load_words(spec),
        limits=spec.limits.model_dump(exclude_none=True),
        tunables=[_tunable(parameter) for parameter in spec.space.parameters.values()],
        combinations=combinations(spec.space),
        baseline=baseline,
        known_good=len({spec.space.canonical(settings) for settings in known_good}),
        command=command,
        env=env,
        refusals=refusals(spec.space, forbidden),
        problems=list(dict.fromkeys(problems)),
    )


def combinations(space: SearchSpace) -> int | None:
    """How many different servers a space can start, None when a range has no step.

    Settings of a speculation that is off are not counted; equivalent settings elsewhere are.
    """
    values = {name: parameter.values for name, parameter in space.parameters.items()}
    if any(choices is None for choices in values.values()):
        return None
    free = math.prod(len(choices or ()) for name, choices in values.items() if name not in _CONDITIONAL)
    tied = {name: values[name] or () for name in _CONDITIONAL if name in values}
    joint = itertools.product(*tied.values())
    return free * len({space.canonical(dict(zip(tied, chosen, strict=True))) for chosen in joint})


def refusals(space: SearchSpace, forbidden: Forbidden) -> list[Refusal]:
    """Why parts of the space can never run, the largest part first; shares come from random samples."""
    dice = random.Random(0)
    choices = {name: _probes(parameter) for name, parameter in space.parameters.items()}
    found: dict[str, list[str]] = defaultdict(list)
    for _ in range(_SAMPLES):
        settings = {name: dice.choice(values) for name, values in choices.items()}
        if reason := forbidden(space.active(settings)):
            found[re.sub(r"\d+", "N", reason)].append(reason)
    kinds = sorted(found.values(), key=len, reverse=True)
    return [Refusal(reasons[0], len(reasons) / _SAMPLES) for reasons in kinds]


def _probes(parameter: Parameter) -> tuple[Value, ...]:
    distribution: Any = parameter.distribution
    return parameter.values or (distribution.low, distribution.high)


def _server_problems(spec: StudySpec, catalogue: FlagCatalogue) -> Iterator[SpecProblem]:
    space = {name: _probes(parameter) for name, parameter in spec.space.parameters.items()}
    for problem in check_names(space, catalogue):
        yield _in_space(spec, problem)
    for problem in conflicts(spec.server.args, space, catalogue, spec.server.env):
        yield _in_space(spec, problem)
    for problem in check_args(spec.server.args, catalogue):
        yield spec.problem(("server", "args"), problem.sentence)


def _in_space(spec: StudySpec, problem: Problem) -> SpecProblem:
    return spec.problem(("space", problem.where), problem.sentence)


def _baseline_command(
    spec: StudySpec, catalogue: FlagCatalogue | None, baseline: Settings | None
) -> tuple[Sequence[str], Mapping[str, str]]:
    if catalogue is None or baseline is None:
        return (), {}
    host, port = user_endpoint(spec.server.args)
    try:
        command = build_command(baseline, spec.server, catalogue, host=host, port=port)
    except SettingError:
        return (), {}  # the same complaint stands among the problems
    return redact_argv(command.argv), redact_env(command.env)


def _way_to_start(server: ServerPlan) -> str:
    return "box" if server.box is not None else "image" if server.image is not None else "command"


def _server_words(server: ServerPlan, catalogue: FlagCatalogue | None) -> str:
    if server.box is not None:
        return f"simulated box {server.box}"
    name = catalogue.server_name if catalogue is not None else "a server that could not be asked"
    return f"{name} in image {server.image}" if server.image is not None else name


def _budget_words(spec: StudySpec) -> str:
    study = spec.study
    bounds = [
        f"{study.trials} trials" if study.trials is not None else "",
        f"{study.hours:g} hours" if study.hours is not None else "",
        f"until {study.until:%H:%M}" if study.until is not None else "",
    ]
    return ", ".join(filter(None, bounds)) + (", whichever comes first" if sum(map(bool, bounds)) > 1 else "")


def _load_words(spec: StudySpec) -> str:
    bench = spec.bench
    levels = ", ".join(map(str, bench.levels))
    return (
        f"levels of {levels} concurrent streams, {bench.main_level} is the one to win; "
        f"{bench.output_tokens} tokens each, at most {bench.max_seconds_per_level:g} s a level"
    )


def _tunable(parameter: Parameter) -> Tunable:
    return Tunable(parameter.name, parameter.describe(), _CONDITIONS.get(parameter.name, ""))
