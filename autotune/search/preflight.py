"""Memory pre-flight: settings that earlier boots prove dead are never booted, and each one says which boot.

Only proofs, no probabilities: a bound that the log printed, a figure that was measured, or a crash of
settings that asked for no more memory.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from autotune.search.codec import Codec
from autotune.search.history import Observation
from autotune.search.load import FRACTION, GRAPHS, RUNNING
from autotune.search.memory import (
    CHUNK,
    KV_POOL,
    TOO_HIGH,
    TOO_HIGH_SERVING,
    TOO_LOW,
    card_gib,
    left_share,
    printed_least,
    weights_share,
)
from autotune.search.parameters import Settings, Value
from autotune.search.space import ALGORITHM, ALL_REDUCE, DRAFT_TOKENS, LAYOUT, STEPS, TOPK

_GROWING = (GRAPHS, RUNNING, CHUNK, STEPS, TOPK, DRAFT_TOKENS)
_WEIGHTS = (LAYOUT, ALGORITHM, ALL_REDUCE, "flag.quantization", "flag.dtype")
_GIB_MARGIN = 0.5


class Preflight:
    """What earlier boots prove about memory.

    Args:
        codec: Of the space.
        observations: Boots of any ending.
    """

    def __init__(self, codec: Codec, observations: Iterable[Observation]) -> None:
        known = [seen for seen in observations if FRACTION in seen.settings]
        self._usable = codec.index(FRACTION) is not None
        self._least: dict[tuple[Value | None, ...], tuple[float, int]] = {}
        self._worked: dict[tuple[Value | None, ...], float] = {}
        for seen in known:
            self._learn_least(seen)
            if seen.passed > KV_POOL:
                group = _weights_group(seen.settings)
                self._worked[group] = min(float(seen.settings[FRACTION]), self._worked.get(group, 1.0))
        self._crashes = [seen for seen in known if seen.failure is not None]
        self._good = [seen for seen in known if left_share(seen) is not None and card_gib(seen) is not None]

    def proof(self, settings: Settings) -> str | None:
        """Why these settings cannot have enough memory, or None."""
        if not self._usable or FRACTION not in settings:
            return None
        return (
            self._below_least(settings) or self._worse_than_crash(settings) or self._no_memory_left(settings)
        )

    def _learn_least(self, seen: Observation) -> None:
        """Of each group of weights the highest fraction that is proven too low."""
        share, printed = weights_share(seen), printed_least(seen)
        group = _weights_group(seen.settings)
        if seen.failure is not None and seen.failure.kind in TOO_LOW:
            share = max(float(seen.settings[FRACTION]), printed or 0.0)
        if share is not None and share > self._least.get(group, (0.0, 0))[0]:
            self._least[group] = (share, seen.number)

    def _below_least(self, settings: Settings) -> str | None:
        group, fraction = _weights_group(settings), float(settings[FRACTION])
        least, number = self._least.get(group, (0.0, 0))
        if fraction > least or fraction >= self._worked.get(group, 1.0):
            return None
        return f"a fraction of {fraction:g} is not above {least:.3f}, too low as {_trial(number)} showed"

    def _worse_than_crash(self, settings: Settings) -> str | None:
        fraction = float(settings[FRACTION])
        for seen in self._crashes:
            assert seen.failure is not None
            limit = float(seen.settings[FRACTION])
            kind = seen.failure.kind
            if kind in TOO_LOW and fraction <= limit and _same_but(settings, seen.settings, (FRACTION,)):
                return f"{_trial(seen.number)} had too little memory at a fraction of {limit:g}"
            too_high = kind in TOO_HIGH or kind in TOO_HIGH_SERVING
            if too_high and fraction >= limit and _asks_no_less(settings, seen.settings):
                return f"{_trial(seen.number)} ran out of memory asking for no more"
        return None

    def _no_memory_left(self, settings: Settings) -> str | None:
        for seen in self._good:
            card, left = card_gib(seen), left_share(seen)
            assert card is not None
            assert left is not None
            more = float(settings[FRACTION]) - float(seen.settings[FRACTION])
            short = (more - left) * card
            if (
                short > _GIB_MARGIN
                and _same_kernels(settings, seen.settings)
                and _grows(settings, seen.settings)
            ):
                figures = f"left {left * card:.1f} GiB, and this takes {more * card:.1f} GiB more"
                return f"{_trial(seen.number)} {figures}"
        return None


def _weights_group(settings: Settings) -> tuple[Value | None, ...]:
    """What decides how much is taken before the KV pool."""
    return tuple(settings.get(name) for name in _WEIGHTS)


def _trial(number: int) -> str:
    return f"trial {number}" if number >= 0 else "an earlier study"


def _same_but(left: Settings, right: Settings, names: tuple[str, ...]) -> bool:
    return all(left.get(name) == right.get(name) for name in left.keys() | right.keys() if name not in names)


def _asks_no_less(settings: Settings, crashed: Settings) -> bool:
    return _same_but(settings, crashed, (FRACTION, *_GROWING)) and _grows(settings, crashed)


def _grows(settings: Settings, other: Settings) -> bool:
    """No setting that takes memory is smaller than in the other; both must have the same ones."""
    for name in _GROWING:
        here, there = settings.get(name), other.get(name)
        if (here is None) != (there is None):
            return False
        if here is not None and there is not None and np.less(float(here), float(there)):
            return False
    return True


def _same_kernels(settings: Settings, other: Settings) -> bool:
    return all(settings.get(name) == other.get(name) for name in (LAYOUT, ALGORITHM, ALL_REDUCE))
