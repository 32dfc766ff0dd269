"""The fixed arguments of a server in the terms of settings, so that rules see them too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from trials.settings import FLAG_PREFIX, Layout, Settings, SettingValue
from trials.translation import (
    ATTENTION_DP_FLAGS,
    DP_ATTENTION_FLAGS,
    DP_FLAGS,
    EP_FLAGS,
    PLAIN_FLAGS,
    SPECULATIVE_FLAGS,
    TP_FLAGS,
)

_SETTING_OF = {name: key for key, names in {**PLAIN_FLAGS, **SPECULATIVE_FLAGS}.items() for name in names}
_SHORT = {"--tp": "--tp-size", "--dp": "--dp-size", "--ep": "--ep-size"}


def fixed_settings(args: Sequence[str]) -> Settings:
    """What ``args`` decide, under the names that the rules know."""
    given = dict(_options(args))
    fixed: Settings = {
        _SETTING_OF.get(name, FLAG_PREFIX + name.removeprefix("--")): value for name, value in given.items()
    }
    layout = _layout(given)
    return fixed if layout is None else {**fixed, "layout": str(layout)}


def _options(args: Sequence[str]) -> Iterator[tuple[str, SettingValue]]:
    for place, word in enumerate(args):
        if not word.startswith("--"):
            continue
        name, equals, value = word.partition("=")
        following = args[place + 1] if place + 1 < len(args) else "--"
        if not equals and following.startswith("--"):
            yield _SHORT.get(name, name), True
        else:
            yield _SHORT.get(name, name), _read(value if equals else following)


def _layout(given: Mapping[str, SettingValue]) -> Layout | None:
    def size(names: Sequence[str]) -> int:
        value = next((given[name] for name in names if name in given), 1)
        return value if isinstance(value, int) else 1

    if not any(name in given for name in (*TP_FLAGS, *EP_FLAGS, *DP_FLAGS, *ATTENTION_DP_FLAGS)):
        return None
    adp, dp = size(ATTENTION_DP_FLAGS), size(DP_FLAGS)
    if given.get(DP_ATTENTION_FLAGS[0]):
        adp, dp = dp, 1
    return Layout(tp=size(TP_FLAGS), ep=size(EP_FLAGS), adp=adp, dp=dp)


def _read(text: str) -> SettingValue:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
