"""What `check` says about names, values and fixed arguments before anything boots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trials.flag_words import words_of
from trials.flags import Flag, FlagCatalogue
from trials.flags.catalogue import dashed
from trials.problems import Problem, SettingError, unknown_flag
from trials.settings import ENV_PREFIX, FLAG_PREFIX, SPECULATIVE_DETAILS, Settings, SettingValue
from trials.translation import (
    ALL_REDUCE,
    ATTENTION_DP_FLAGS,
    DP_ATTENTION_FLAGS,
    DP_FLAGS,
    DRAFT_MODEL_FLAGS,
    EP_FLAGS,
    PLAIN_FLAGS,
    SPECULATIVE_FLAGS,
    TP_FLAGS,
    translate,
)

MODEL_FLAG = "--model-path"
ENDPOINT_FLAGS = ("--host", "--port")
_FLAGS_OF_SERVE = ("--model-type",)
"""Understood by ``sglang serve`` before the parser that the catalogue shows."""

CLAIMED_FLAGS: Mapping[str, tuple[str, ...]] = {
    **PLAIN_FLAGS,
    **SPECULATIVE_FLAGS,
    "speculative_algorithm": (*SPECULATIVE_FLAGS["speculative_algorithm"], *DRAFT_MODEL_FLAGS),
    "layout": (*TP_FLAGS, *EP_FLAGS, *DP_FLAGS, *ATTENTION_DP_FLAGS, *DP_ATTENTION_FLAGS),
    "all_reduce": tuple(name for way in ALL_REDUCE.values() for names, _ in way.flags for name in names),
}
"""Every spelling of the flags that a setting writes, over all releases."""


def check_names(space: Mapping[str, Iterable[SettingValue]], catalogue: FlagCatalogue) -> list[Problem]:
    """Settings that this server cannot express, and values that it does not take.

    Args:
        space: Every setting with the values it may have (of a range, its ends).
    """
    problems = [problem for key, values in space.items() for problem in _check_values(key, values, catalogue)]
    for detail in SPECULATIVE_DETAILS:
        if detail in space and "speculative_algorithm" not in space:
            sentence = f'{detail} needs speculative_algorithm beside it, for example ["off", "EAGLE3"]'
            problems.append(Problem(detail, sentence))
    return list(dict.fromkeys(problems))


def check_args(args: Sequence[str], catalogue: FlagCatalogue) -> list[Problem]:
    """Fixed arguments that this server does not know."""
    problems = []
    for option in options_in(args):
        flag = catalogue.match(option)
        if option in _FLAGS_OF_SERVE:
            continue
        if flag is None:
            problems.append(Problem(option, f"args: {unknown_flag(option, catalogue)}"))
        elif flag.retired:
            problems.append(Problem(option, f"args: {option} no longer does anything; remove it"))
    return problems


def conflicts(
    args: Sequence[str],
    keys: Iterable[str],
    catalogue: FlagCatalogue,
    env: Mapping[str, str] | None = None,
) -> list[Problem]:
    """Flags that stand both in the fixed arguments and among the settings, or under two settings."""
    keys = list(keys)
    owner, problems = _owners(keys, catalogue)
    for key in keys:
        if key.startswith(ENV_PREFIX) and key.removeprefix(ENV_PREFIX) in (env or {}):
            problems.append(Problem(key, f"{key} stands both in [server] env and in [space]; remove one"))
    for option in options_in(args):
        written = catalogue.match(option)
        if written is not None and written.name in owner:
            name = owner[written.name]
            problems.append(Problem(name, f"{option} in args is also set by {name}; remove one of them"))
    return problems


def _owners(keys: Iterable[str], catalogue: FlagCatalogue) -> tuple[dict[str, str], list[Problem]]:
    """Which setting writes which flag, and where two of them write the same."""
    owner = {MODEL_FLAG: "[server] model_path"} | dict.fromkeys(ENDPOINT_FLAGS, "autotune for each boot")
    problems = []
    for key in keys:
        for flag in claimed_by(key, catalogue):
            first = owner.setdefault(flag.name, key)
            if first != key:
                problems.append(Problem(key, f"{key} is also set by {first}; remove one of them"))
    return {name: key for name, key in owner.items() if name not in ENDPOINT_FLAGS}, problems


def spellings_of(key: str) -> tuple[str, ...]:
    """Every spelling of the flags that a setting writes."""
    if key.startswith(FLAG_PREFIX):
        return (dashed(key.removeprefix(FLAG_PREFIX)),)
    return CLAIMED_FLAGS.get(key, ())


def claimed_by(key: str, catalogue: FlagCatalogue) -> list[Flag]:
    """The flags of this server that a setting writes."""
    names = spellings_of(key)
    found = [flag for name in names if (flag := catalogue.find(name)) is not None]
    return list(dict.fromkeys(found))


def options_in(args: Sequence[str]) -> Iterator[str]:
    """The flags among fixed arguments, without their values."""
    return (word.partition("=")[0] for word in args if word.startswith("--") and word != "--")


def _check_values(key: str, values: Iterable[SettingValue], catalogue: FlagCatalogue) -> Iterator[Problem]:
    for value in values:
        try:
            if key in SPECULATIVE_DETAILS:
                words_of(key, SPECULATIVE_FLAGS[key], value, catalogue)
            else:
                settings: Settings = {key: value}
                translate(settings, catalogue)
        except SettingError as error:
            yield Problem(key, str(error))
