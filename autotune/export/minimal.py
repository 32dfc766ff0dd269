"""``--minimal``: a command without the flags that say what the server does anyway."""

from __future__ import annotations

import ast
from dataclasses import replace

from autotune.export._base import ExportInput
from trials.argument_checks import ENDPOINT_FLAGS, MODEL_FLAG, spellings_of
from trials.flags import Flag, FlagCatalogue
from trials.own_words import FlagGroup, flag_groups


class OtherServerError(ValueError):
    """The server whose defaults are known is not the one that was measured; one sentence."""


def minimal(exported: ExportInput, catalogue: FlagCatalogue) -> ExportInput:
    """Leave out each flag whose value is the server's default, as the catalogue proves.

    A setting that the server replaced keeps its flag: what it would do without is not known.

    Raises:
        OtherServerError: If the catalogue is of another version than the one that ran.
        trials.problems.SettingError: If the catalogue lacks a flag that ran.
    """
    measured = exported.versions.get("sglang")
    if measured and catalogue.version and measured != catalogue.version:
        raise OtherServerError(
            f"the study measured SGLang {measured} and {catalogue.version} is installed here, whose defaults "
            "may differ; export without --minimal, or where the measured version is installed"
        )
    kept_anyway = {MODEL_FLAG, *ENDPOINT_FLAGS, *(name for key in exported.ran for name in spellings_of(key))}
    kept: list[str] = []
    left_out: list[str] = []
    for group in flag_groups(exported.flags, catalogue):
        names = group.flag.spellings if group.flag else ()
        needed = kept_anyway.intersection(names) or not is_default(group)
        (kept if needed else left_out).extend(group.words)
    return replace(exported, argv=(*exported.program, *kept), left_out=tuple(left_out))


def is_default(group: FlagGroup) -> bool:
    """True where the words are proven to change nothing."""
    flag = group.flag
    if flag is None or flag.default in (None, "None"):
        return False
    default = _value(flag.default or "")
    if flag.takes == "nothing":
        return default is (group.words[0] != flag.negative)
    if flag.takes == "many":
        return isinstance(default, list | tuple) and list(map(str, default)) == group.values
    return len(group.values) == 1 and _same(flag, group.values[0], default)


def _same(flag: Flag, word: str, default: object) -> bool:
    if isinstance(default, int | float) and not isinstance(default, bool):
        written = _value(word)
        return isinstance(written, int | float) and written == default
    return word == str(default)


def _value(text: str) -> object:
    """A default is listed as Python prints it, in ``--help`` as plain text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
