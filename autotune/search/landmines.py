"""Landmines: single values, or pairs of them, that cannot run, found by group testing.

Every value and every pair of values is a suspect with a small prior. A crash is a noisy OR of the suspects
that its settings contain; a boot that got past the stage where the crash struck acquits all that it contains.
Belief is spread by sum-product messages on that graph (Pearl 1988, chapter 4; the noisy-OR networks of
QMR-DT, Shwe et al. 1991), so that one crash is never counted as seven. A log that names its culprit narrows
the suspects to it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from autotune.search.codec import Codec, Mask, Matrix
from autotune.search.history import Observation
from autotune.search.memory import MEMORY_KINDS
from autotune.search.space import LAYOUT, TOPK

Token: TypeAlias = tuple[int, int]
Suspect: TypeAlias = tuple[Token, ...]
Tokens: TypeAlias = NDArray[np.int64]

HARMLESS = ("off", "default", "none", "auto", "nccl", "0", "disabled")
"""Values that ask for nothing special."""

FLAKY_KINDS = frozenset({"kernel_fault", "communication", "hang"})
"""A boot that went well does not quite acquit of these: some strike one time in several."""

_SINGLE, _HARMLESS_SINGLE, _NUMBER_SINGLE, _TRAIT_SINGLE = 0.06, 0.008, 0.004, 0.02
_PAIR, _NUMBER_PAIR = 0.006, 0.0002
_STRIKES = 0.97
_LEAK = 0.002
_ACQUITTED = 1e-4
_FLAKY_ACQUITTED = 0.02
_BINS = 4
_LAYOUT_PARTS = ("-ep", "-adp", "-dp")
_ROUNDS = 25
_DAMPING = 0.3


@dataclass(frozen=True)
class _Trait:
    """Something that several values of one setting share, and that may be what cannot run."""

    base: int
    label: str
    holds: Mask


def _traits(codec: Codec) -> list[_Trait]:
    traits = []
    tree = codec.index(TOPK)
    if tree is not None and not codec.categorical[tree]:
        holds = np.array([float(value) > 1 for value in codec.grids[tree]])
        traits.append(_Trait(tree, f"{TOPK} above 1", holds))
    layout = codec.index(LAYOUT)
    for part in _LAYOUT_PARTS if layout is not None else ():
        assert layout is not None
        holds = np.array([part in str(value) for value in codec.grids[layout]])
        traits.append(_Trait(layout, f"{LAYOUT} with {part[1:]}", holds))
    return [trait for trait in traits if 1 < np.count_nonzero(trait.holds) < len(trait.holds)]


class Landmines:
    """Beliefs about what cannot run.

    Args:
        codec: Of the space.
        observations: Boots of any ending; memory failures count as passes of the stages before.
    """

    def __init__(self, codec: Codec, observations: Iterable[Observation]) -> None:
        self._codec = codec
        self._traits = _traits(codec)
        self._bases = [*range(len(codec.names)), *(trait.base for trait in self._traits)]
        self._ordered = [not bool(categorical) for categorical in codec.categorical] + [False] * len(
            self._traits
        )
        known = [seen for seen in observations if seen.ending != "pending"]
        tokens = self._tokens(codec.values_of([seen.settings for seen in known]))
        self._passed = self._count_passed(known, tokens)
        crashes = [
            (seen, line)
            for seen, line in zip(known, tokens, strict=True)
            if seen.failure is not None and seen.failure.kind not in MEMORY_KINDS
        ]
        self._belief = self._spread(crashes)
        self._single = self._single_table()
        self._pairs = self._pair_tables()

    def chances(self, values: Matrix) -> Matrix:
        """Probability of containing no landmine, for settings as ``Codec.values`` gives them."""
        tokens = self._tokens(values)
        safe = np.zeros(len(tokens))
        for at in range(tokens.shape[1]):
            safe += np.where(tokens[:, at] >= 0, self._single[at][tokens[:, at]], 0.0)
        for (first, second), table in self._pairs.items():
            both = (tokens[:, first] >= 0) & (tokens[:, second] >= 0)
            safe += np.where(both, table[tokens[:, first], tokens[:, second]], 0.0)
        return np.exp(safe)

    def worst(self, values: Matrix) -> tuple[Suspect | None, float]:
        """The most suspicious part of one row of settings, and the belief in it."""
        tokens = self._tokens(values)[0]
        found = [(self._belief_in(suspect), suspect) for suspect in self._suspects(tokens)]
        belief, suspect = max(found, default=(0.0, None))
        return suspect, belief

    def describe(self, suspect: Suspect) -> str:
        """A suspect in words."""
        parts = []
        for at, position in suspect:
            if at >= len(self._codec.names):
                parts.append(self._traits[at - len(self._codec.names)].label)
                continue
            exact = not self._binned(at)
            value = self._codec.grids[at][position] if exact else "in that range"
            parts.append(f"{self._codec.names[at]} {value}")
        return " with ".join(parts)

    def _binned(self, at: int) -> bool:
        return self._ordered[at] and len(self._codec.grids[at]) > 8

    def _tokens(self, values: Matrix) -> Tokens:
        """Per settings and column the category, or the bin of a number; -1 where it does not count."""
        unit = self._codec.unit(values)
        tokens = np.full(values.shape, -1, dtype=np.int64)
        for at in range(values.shape[1]):
            column = unit[:, at]
            here = ~np.isnan(column)
            if not self._ordered[at]:
                tokens[here, at] = column[here].astype(np.int64)
            elif self._binned(at):
                tokens[here, at] = np.clip((column[here] * _BINS).astype(np.int64), 0, _BINS - 1)
            else:
                grid = self._codec.unit(self._grid_values(at))[:, at]
                tokens[here, at] = np.argmin(np.abs(column[here, None] - grid[None, :]), axis=1)
        shared = [np.where(trait.holds[tokens[:, trait.base]], 0, -1) for trait in self._traits]
        for trait, column in zip(self._traits, shared, strict=True):
            column[tokens[:, trait.base] < 0] = -1
        return np.column_stack([tokens, *shared]) if shared else tokens

    def _grid_values(self, at: int) -> Matrix:
        grid = self._codec.grids[at]
        values = np.full((len(grid), len(self._codec.names)), np.nan)
        values[:, at] = [float(value) for value in grid]
        return values

    def _suspects(self, tokens: Tokens) -> list[Suspect]:
        present = [(at, int(position)) for at, position in enumerate(tokens) if position >= 0]
        pairs = (
            (one, other)
            for one, other in itertools.combinations(present, 2)
            if self._bases[one[0]] != self._bases[other[0]]
        )
        return [*((token,) for token in present), *pairs]

    def _count_passed(self, known: Sequence[Observation], tokens: Tokens) -> dict[Suspect, int]:
        """Per suspect the most stages that settings containing it have passed."""
        passed: dict[Suspect, int] = {}
        for seen, line in zip(known, tokens, strict=True):
            for suspect in self._suspects(line):
                if seen.passed > passed.get(suspect, 0):
                    passed[suspect] = seen.passed
        return passed

    def _prior(self, suspect: Suspect) -> float:
        numbers = sum(self._ordered[at] for at, _ in suspect)
        if len(suspect) == 2:
            return _NUMBER_PAIR if numbers else _PAIR
        at, position = suspect[0]
        if numbers:
            return _NUMBER_SINGLE
        if at >= len(self._codec.names):
            return _TRAIT_SINGLE
        return _HARMLESS_SINGLE if str(self._codec.grids[at][position]) in HARMLESS else _SINGLE

    def _spread(self, crashes: Sequence[tuple[Observation, Tokens]]) -> dict[Suspect, float]:
        """Beliefs after passing messages between crashes and suspects until they settle."""
        accused = [self._accused(seen, line) for seen, line in crashes]
        priors: dict[Suspect, float] = {}
        for group in accused:
            for suspect, prior in group.items():
                priors[suspect] = max(prior, priors.get(suspect, 0.0))
        odds = {suspect: _logit(prior) for suspect, prior in priors.items()}
        messages = [dict.fromkeys(group, 0.0) for group in accused]
        for _ in range(_ROUNDS if accused else 0):
            for group, sent in zip(accused, messages, strict=True):
                self._update(group, sent, odds)
        return {suspect: _chance(value) for suspect, value in odds.items()}

    def _accused(self, seen: Observation, tokens: Tokens) -> dict[Suspect, float]:
        assert seen.failure is not None
        failure = seen.failure
        everyone = self._suspects(tokens)
        named = {at for at, base in enumerate(self._bases) if self._codec.names[base] in failure.changes}
        if named:
            narrowed = [suspect for suspect in everyone if any(at in named for at, _ in suspect)]
            everyone = narrowed or everyone
        cleared = {suspect for suspect in everyone if self._passed.get(suspect, 0) > failure.stage}
        if failure.kind not in FLAKY_KINDS:
            return {suspect: self._prior(suspect) for suspect in everyone if suspect not in cleared}
        return {
            suspect: self._prior(suspect) * (_FLAKY_ACQUITTED if suspect in cleared else 1.0)
            for suspect in everyone
        }

    def _update(
        self, group: dict[Suspect, float], sent: dict[Suspect, float], odds: dict[Suspect, float]
    ) -> None:
        if not group:
            return
        cavity = np.array([odds[suspect] - sent[suspect] for suspect in group])
        guilty = 1.0 / (1.0 + np.exp(-np.clip(cavity, -40, 40)))
        innocent = np.log1p(-_STRIKES * np.minimum(guilty, 1 - 1e-9))
        others = np.exp(np.sum(innocent) - innocent)
        survives = (1.0 - _LEAK) * others
        fresh = np.log((1.0 - (1.0 - _STRIKES) * survives) / np.maximum(1.0 - survives, 1e-12))
        for suspect, message in zip(group, fresh, strict=True):
            settled = _DAMPING * sent[suspect] + (1.0 - _DAMPING) * float(message)
            odds[suspect] += settled - sent[suspect]
            sent[suspect] = settled

    def _belief_in(self, suspect: Suspect) -> float:
        believed = self._belief.get(suspect)
        if believed is not None:
            return believed
        passed = self._passed.get(suspect, 0)
        return self._prior(suspect) * (_ACQUITTED if passed >= _ENOUGH else 1.0)

    def _single_table(self) -> list[Matrix]:
        """Per column, the log chance that each of its values is no landmine."""
        return [
            np.array([self._safe(((at, position),)) for position in range(size)])
            for at, size in enumerate(self._token_counts())
        ]

    def _token_counts(self) -> list[int]:
        own = [_BINS if self._binned(at) else max(len(grid), 1) for at, grid in enumerate(self._codec.grids)]
        return own + [1] * len(self._traits)

    def _pair_tables(self) -> dict[tuple[int, int], Matrix]:
        """Per two columns, the log chance that each pair of their values is no landmine."""
        counts = self._token_counts()
        tables = {
            (first, second): np.full((counts[first], counts[second]), self._untried_pair(first, second))
            for first, second in itertools.combinations(range(len(counts)), 2)
            if self._bases[first] != self._bases[second]
        }
        for suspect in self._passed.keys() | self._belief.keys():
            if len(suspect) == 2:
                (first, one), (second, other) = suspect
                tables[first, second][one, other] = self._safe(suspect)
        return tables

    def _untried_pair(self, first: int, second: int) -> float:
        numbers = self._ordered[first] or self._ordered[second]
        return float(np.log1p(-_STRIKES * (_NUMBER_PAIR if numbers else _PAIR)))

    def _safe(self, suspect: Suspect) -> float:
        return math.log1p(-_STRIKES * self._belief_in(suspect))


_ENOUGH = 8
"""Stages passed that acquit entirely: the server was ready and measured."""


def _logit(chance: float) -> float:
    return float(np.log(chance / (1.0 - chance)))


def _chance(odds: float) -> float:
    return float(1.0 / (1.0 + np.exp(-np.clip(odds, -40, 40))))
