"""The search space: which settings are tunable, which of them count, and when two of them are the same."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from optuna.distributions import BaseDistribution
from optuna.trial import BaseTrial, FrozenTrial

from autotune.search.parameters import Parameter, Settings, SpaceError, Value

Key: TypeAlias = tuple[tuple[str, Value], ...]

ALGORITHM = "speculative_algorithm"
STEPS = "speculative_num_steps"
TOPK = "speculative_eagle_topk"
DRAFT_TOKENS = "speculative_num_draft_tokens"
LAYOUT = "layout"
ALL_REDUCE = "all_reduce"
A2A_BACKEND = "flag.moe-a2a-backend"

KNOWN_SETTINGS = (
    "mem_fraction_static",
    "cuda_graph_max_bs",
    "max_running_requests",
    "chunked_prefill_size",
    LAYOUT,
    ALGORITHM,
    STEPS,
    TOPK,
    DRAFT_TOKENS,
    ALL_REDUCE,
)
PREFIXES = ("flag.", "env.")

_ORDER = (LAYOUT, ALGORITHM, STEPS, TOPK, DRAFT_TOKENS)
"""Asked in this order, because later ones depend on earlier ones."""


class SearchSpace:
    """The tunables of a study.

    Attributes:
        parameters: Every tunable by name, conditions after what they depend on.
    """

    def __init__(self, parameters: Iterable[Parameter]) -> None:
        found = {parameter.name: parameter for parameter in parameters}
        ordered = [name for name in found if name not in _ORDER] + [name for name in _ORDER if name in found]
        self.parameters: Mapping[str, Parameter] = MappingProxyType({name: found[name] for name in ordered})

    @classmethod
    def from_dict(cls, table: Mapping[str, object]) -> SearchSpace:
        """Read the ``[space]`` table of a ``study.toml``.

        Args:
            table: Per setting a list of values, or ``{"low", "high"[, "step"]}``.

        Raises:
            SpaceError: One sentence that names the key at fault and what to write instead.
        """
        for name in table:
            _check_name(name)
        return cls(Parameter.from_table(name, entry) for name, entry in table.items())

    @classmethod
    def from_trials(cls, trials: Iterable[FrozenTrial]) -> SearchSpace | None:
        """Infer the space from past trials: every parameter as last suggested; None without any."""
        seen: dict[str, BaseDistribution] = {}
        for trial in trials:
            seen.update(trial.distributions)
        return cls(Parameter(name, seen[name]) for name in sorted(seen)) if seen else None

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """What Optuna calls the search space."""
        return {name: parameter.distribution for name, parameter in self.parameters.items()}

    def suggest(self, trial: BaseTrial) -> Settings:
        """Ask the trial for every setting that counts: the one place that calls ``suggest_*``."""
        settings: Settings = {}
        for name, parameter in self.parameters.items():
            if _counts(name, settings, self.parameters):
                settings[name] = parameter.suggest(trial)
        return settings

    def active(self, settings: Mapping[str, Value]) -> Settings:
        """The settings that count: conditional ones only where their condition holds, others as given."""
        kept: Settings = {name: value for name, value in settings.items() if name not in _ORDER}
        for name in _ORDER:
            if name in settings and _counts(name, kept, settings):
                kept[name] = settings[name]
        return kept

    def canonical(self, settings: Mapping[str, Value]) -> Key:
        """A hashable key that is equal for settings that start the same server.

        Inactive conditionals are dropped; "custom" all-reduce adds no flag and so is "default"; a MoE
        all-to-all back end without expert parallelism is "none".
        """
        active = self.active(settings)
        if active.get(ALL_REDUCE) == "custom":
            active[ALL_REDUCE] = "default"
        if A2A_BACKEND in active and LAYOUT in active and "-ep" not in str(active[LAYOUT]):
            active[A2A_BACKEND] = "none"
        cleaned = ((name, self._clean_or_raw(name, value)) for name, value in active.items())
        return tuple(sorted(cleaned, key=lambda pair: pair[0]))

    def check(self, settings: Mapping[str, Value], *, where: str = "settings") -> Settings:
        """Hold settings against the space and return them as the space writes them.

        Args:
            settings: Complete or partial settings.
            where: What the message calls them, such as ``[[known_good]] 1``.

        Raises:
            SpaceError: If a key is unknown, or a value lies outside.
        """
        checked: Settings = {}
        for name, value in settings.items():
            parameter = self.parameters.get(name)
            if parameter is None:
                raise SpaceError(name, f"{where}: {name} is not in [space]{_nearest(name, self.parameters)}")
            try:
                checked[name] = parameter.clean(value)
            except SpaceError as error:
                raise SpaceError(name, f"{where}: {error}") from None
        return checked

    def missing(self, settings: Mapping[str, Value]) -> tuple[str, ...]:
        """Tunables that these settings would need and do not name."""
        given: Settings = {}
        absent = []
        for name in self.parameters:
            if not _counts(name, given, self.parameters):
                continue
            if name in settings:
                given[name] = settings[name]
            else:
                absent.append(name)
        return tuple(absent)

    def check_stored(self, distributions: Mapping[str, BaseDistribution]) -> None:
        """Compare with what a stored trial was drawn from.

        Raises:
            SpaceError: If a stored parameter is unknown here, or has another range or other choices.
        """
        for name, stored in distributions.items():
            parameter = self.parameters.get(name)
            if parameter is None:
                raise SpaceError(
                    name, f"the study has {name}, which this space lacks; start a new study for it"
                )
            if parameter.distribution != stored:
                raise SpaceError(
                    name,
                    f"{name} was {Parameter(name, stored).describe()} in this study and is now "
                    f"{parameter.describe()}; start a new study and import this one",
                )

    def _clean_or_raw(self, name: str, value: Value) -> Value:
        parameter = self.parameters.get(name)
        if parameter is None:
            return value
        try:
            return parameter.clean(value)
        except SpaceError:
            return value


def _counts(name: str, settings: Mapping[str, Value], present: Mapping[str, object]) -> bool:
    """Whether a conditional setting matters beside those chosen so far; others always do."""
    if name not in (STEPS, TOPK, DRAFT_TOKENS):
        return True
    algorithm = settings.get(ALGORITHM) if ALGORITHM in present else None
    if algorithm == "off":
        return False
    if algorithm == "NGRAM":
        return name == DRAFT_TOKENS
    tied = settings.get(TOPK) == 1 and STEPS in present
    return not (name == DRAFT_TOKENS and tied)


def _check_name(name: str) -> None:
    if name in KNOWN_SETTINGS or any(name.startswith(prefix) and name != prefix for prefix in PREFIXES):
        return
    hint = (
        _nearest(name, KNOWN_SETTINGS) or "; any other server flag is written flag.NAME, a variable env.NAME"
    )
    raise SpaceError(name, f"[space] {name} is not a setting{hint}")


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""
