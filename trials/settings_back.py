"""A server's resolved arguments read back into settings: what a log says that ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trials.flags.catalogue import dashed
from trials.ran import graph_size_of, layout_of
from trials.settings import (
    FLAG_PREFIX,
    PLAIN_SETTINGS,
    SPECULATION_OFF,
    SPECULATIVE_DETAILS,
    Layout,
    Settings,
    SettingValue,
)
from trials.translation import ALL_REDUCE

_DIVIDED_BY_ATTENTION_DP = ("chunked_prefill_size", "flag.schedule-conservativeness")


def settings_said(args: Mapping[str, Any], names: Iterable[str]) -> Settings:
    """Values of the named settings, as far as resolved arguments show them.

    Left out: environment variables, ways of all-reduce that only a variable switches on, and what SGLang
    divides among attention groups.
    """
    said: Settings = {}
    for name in names:
        value = _said(name, args)
        if isinstance(value, bool | int | float | str):
            said[name] = value
    return said


def _said(name: str, args: Mapping[str, Any]) -> Any:
    layout = layout_of(args)
    if name in _DIVIDED_BY_ATTENTION_DP and layout is not None and Layout.parse(layout).adp > 1:
        return None
    if name == "layout":
        return layout
    if name == "cuda_graph_max_bs":
        return graph_size_of(args)
    if name == "all_reduce":
        return _all_reduce(args)
    if name == "speculative_algorithm":
        return args[name] or SPECULATION_OFF if name in args else None
    if name in (*PLAIN_SETTINGS, *SPECULATIVE_DETAILS):
        return args.get(name)
    if name.startswith(FLAG_PREFIX):
        return args.get(_field(name.removeprefix(FLAG_PREFIX)))
    return None


def _all_reduce(args: Mapping[str, Any]) -> str | None:
    """The first way whose own flag is set; without the custom kernels it is NCCL, or one that a variable
    switches on, which no argument shows."""
    for way, how in ALL_REDUCE.items():
        if how.flags and not how.env and any(_is_set(names, value, args) for names, value in how.flags):
            return way
    return "default" if "disable_custom_all_reduce" in args else None


def _is_set(names: Iterable[str], value: SettingValue, args: Mapping[str, Any]) -> bool:
    found = [args.get(_field(name)) for name in names]
    return any(one is True if value is True else one not in (None, "", False) for one in found)


def _field(flag: str) -> str:
    return dashed(flag).removeprefix("--").replace("-", "_")
