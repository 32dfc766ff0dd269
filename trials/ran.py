"""What really ran: the server's resolved arguments and warnings, held against what was asked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trials.flags import FlagCatalogue
from trials.ran_notices import attention_groups, meanings_of
from trials.settings import (
    FLAG_PREFIX,
    PLAIN_SETTINGS,
    SPECULATION_OFF,
    SPECULATIVE_DETAILS,
    Layout,
    Settings,
    SettingValue,
    is_speculative,
)
from trials.translation import speculative_details

_NUMBER_TOLERANCE = 1e-3
"""Relative; SGLang rounds fractions to three digits."""
_DIVIDED_BY_ATTENTION_DP = ("chunked_prefill_size", "flag.schedule-conservativeness")
"""SGLang scales these for every attention group; the asked value is what a repeat must ask for again."""


@dataclass(frozen=True)
class WhatRan:
    """The difference between what was asked and what ran.

    Attributes:
        ran: Settings that the server ignored, replaced or reduced, with the value it used.
        sentences: What happened, for people.
    """

    ran: dict[str, SettingValue]
    sentences: tuple[str, ...] = ()


def what_ran(
    settings: Settings,
    server_args: Mapping[str, Any] | None,
    notices: Sequence[str],
    catalogue: FlagCatalogue,
) -> WhatRan:
    """Hold what the server says about itself against what it was asked for.

    Args:
        server_args: Its resolved arguments, from the log or ``/server_info``; None when unknown.
        notices: Its warnings, in its own words.
    """
    ran: dict[str, SettingValue] = {}
    sentences: list[str] = []
    for setting, used in _used(settings, server_args or {}, catalogue):
        if not _same(settings[setting], used):
            ran[setting] = used
            sentences.append(
                f"{setting}: asked for {_shown(settings[setting])}, the server used {_shown(used)}"
            )
    for meaning, said in meanings_of(notices):
        sentences.append(meaning.sentence.format(**said.groupdict()))
        if meaning.setting is not None and meaning.used is not None and meaning.overrules(settings):
            ran[meaning.setting] = meaning.used(settings, said)
    return WhatRan(_without_custom(ran, notices), tuple(dict.fromkeys(sentences)))


def _used(
    settings: Settings, args: Mapping[str, Any], catalogue: FlagCatalogue
) -> Iterator[tuple[str, SettingValue]]:
    """Settings that the server reports, each with the value it uses."""
    grouped = attention_groups(settings) > 1
    for setting in settings:
        if grouped and setting in _DIVIDED_BY_ATTENTION_DP:
            continue
        used = _reported(setting, settings, args, catalogue)
        if isinstance(used, bool | int | float | str):
            yield setting, used


def _reported(setting: str, settings: Settings, args: Mapping[str, Any], catalogue: FlagCatalogue) -> Any:
    if setting == "layout":
        return layout_of(args)
    if setting == "cuda_graph_max_bs":
        return graph_size_of(args)
    if setting in PLAIN_SETTINGS:
        return args.get(setting)
    if setting == "speculative_algorithm" and setting in args:
        return args[setting] or SPECULATION_OFF
    if setting in SPECULATIVE_DETAILS:
        relevant = is_speculative(settings) and setting in speculative_details(settings)
        return args.get(setting) if relevant else None
    if setting.startswith(FLAG_PREFIX):
        flag = catalogue.find(setting.removeprefix(FLAG_PREFIX))
        # A deprecated flag is moved to its successor, and then stands in its own field as if never asked for.
        return None if flag is None or flag.deprecated else args.get(flag.dest)
    return None


def layout_of(args: Mapping[str, Any]) -> str | None:
    """The layout in our words, None where the server does not say."""
    if not isinstance(args.get("tp_size"), int):
        return None
    tp, ep, dp = (int(args.get(name) or 1) for name in ("tp_size", "ep_size", "dp_size"))
    adp = int(args.get("attn_dp_size") or 1)
    if "attn_dp_size" not in args and args.get("enable_dp_attention"):
        adp, dp = dp, 1
    return str(Layout(tp=tp, ep=ep, adp=adp, dp=dp))


def graph_size_of(args: Mapping[str, Any]) -> int | None:
    """The largest batch size to capture; 0 when the server captures none."""
    decode = (args.get("cuda_graph_config") or {}).get("decode")
    if isinstance(decode, Mapping):
        return 0 if decode.get("backend") == "disabled" else decode.get("max_bs")
    if args.get("disable_cuda_graph"):
        return 0
    named = (args.get(name) for name in ("cuda_graph_max_bs_decode", "cuda_graph_max_bs"))
    return next((size for size in named if size is not None), None)


def _same(asked: SettingValue, used: SettingValue) -> bool:
    if isinstance(asked, bool) or isinstance(used, bool):
        return asked == used
    try:
        return math.isclose(float(asked), float(used), rel_tol=_NUMBER_TOLERANCE)
    except ValueError:
        return str(asked).lower() == str(used).lower()


def _without_custom(ran: dict[str, SettingValue], notices: Sequence[str]) -> dict[str, SettingValue]:
    """Where the default is what is left, and the default has no custom all-reduce, NCCL is what is left."""
    custom_is_off = any(meaning.asked == ("default", "custom") for meaning, _ in meanings_of(notices))
    if custom_is_off and ran.get("all_reduce") == "default":
        return {**ran, "all_reduce": "nccl"}
    return ran


def _shown(value: SettingValue) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
