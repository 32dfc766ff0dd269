"""A night on an analytic box without servers and without the sampler: search, finals, verdict."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from optuna.trial import TrialState

from autotune.night.finals import LONG_FINALS, Finals
from autotune.search import SearchSpace, Settings
from autotune.trial_view import TrialView
from autotune.verdict import Verdict, decide
from tests.bench.analytic import AnalyticBox
from tests.bench.optimum import places
from trials.outcome import Measurement
from trials.settings import Limits

SEARCH_BOOTS = 48
"""A night of 60 boots of which 12 are finals."""

LOCAL_SHARE = 0.7
"""How many boots change one or two settings of the best so far: what crowds the field near its top, as the
real sampler does."""

Gain = Literal["as it comes", "6 %", "none"]
"""The baseline: settings drawn by chance, or the night's best less 6 %, or as fast as its very best."""

GAINS: tuple[Gain, ...] = get_args(Gain)

_DRAWN_FOR_BASELINE = 15


class Ground:
    """A box with what is known of it without noise."""

    def __init__(self, box: AnalyticBox) -> None:
        self.box = box
        self.space = SearchSpace.from_dict(box.table)
        self._grid = {name: places(parameter) for name, parameter in self.space.parameters.items()}

    def drawn(self, rng: np.random.Generator) -> Settings:
        return {name: values[rng.integers(len(values))] for name, values in self._grid.items()}

    def changed(self, settings: Settings, rng: np.random.Generator) -> Settings:
        names = rng.choice(list(self._grid), size=rng.integers(1, 3), replace=False)
        return settings | {name: self._grid[name][rng.integers(len(self._grid[name]))] for name in names}

    def baseline(self, rng: np.random.Generator) -> Settings:
        """Middling among settings that boot."""
        found: list[tuple[float, int, Settings]] = []
        while len(found) < _DRAWN_FOR_BASELINE:
            if truth := self.box.true_value(settings := self.drawn(rng)):
                found.append((truth, len(found), settings))
        return sorted(found)[_DRAWN_FOR_BASELINE // 2][2]


@dataclass(frozen=True)
class Played:
    """What a night claimed and what was true, throughputs in logarithms.

    Attributes:
        early: The verdict before the finals.
        verdict: The verdict after them.
        truths: By trial number.
        finals: How many boots they took.
        best_finalist: Truth of the best that was in them.
    """

    early: Verdict
    verdict: Verdict
    truths: dict[int, float]
    finals: int
    best_finalist: float

    def true_gain(self, verdict: Verdict) -> float:
        """Of the named winner over the baseline."""
        assert verdict.best is not None
        return self.truths[verdict.best] - self.truths[0]

    @property
    def is_true(self) -> bool:
        """Whether the interval holds the truth; "nothing was faster" is true if no finalist is."""
        if self.verdict.speed_up_ci95 is None:
            return self.truths[0] >= self.best_finalist
        low, high = map(math.log, self.verdict.speed_up_ci95)
        return low <= self.true_gain(self.verdict) <= high

    @property
    def shortfall(self) -> float:
        """How far the winner is below the best that the night booted."""
        assert self.verdict.best is not None
        return max(self.truths.values()) - self.truths[self.verdict.best]

    @property
    def best_shortfall(self) -> float:
        """The same of the truly best finalist."""
        return max(self.truths.values()) - self.best_finalist

    @property
    def is_best_finalist(self) -> bool:
        assert self.verdict.best is not None
        return self.truths[self.verdict.best] >= self.best_finalist


def play(ground: Ground, seed: int) -> dict[Gain, Played]:
    """One night's search, then its finals against each kind of baseline; everything follows from the seed."""
    views, truths = _search(ground, np.random.default_rng([seed, 5]))
    return {gain: _finals(ground.box, views, truths, gain, seed) for gain in GAINS}


def _finals(
    box: AnalyticBox, views: Sequence[TrialView], found: Mapping[int, float], gain: Gain, seed: int
) -> Played:
    rng = np.random.default_rng([seed, 6, GAINS.index(gain)])
    truths, search = dict(found), list(views)
    if gain != "as it comes":
        best = max(truth for number, truth in truths.items() if number)
        truths[0] = best - (math.log(1.06) if gain == "6 %" else 0.0)
        search[0] = _view(0, _measured(truths[0], box, rng), "baseline", box.level)
    history = list(search)
    finals = Finals(box.level, Limits(), seed)
    finalists = []
    while (request := finals.next(history, LONG_FINALS)) is not None:
        number = request.replicate_of or 0
        finalists.append(truths[number])
        tok_s = _measured(truths[number], box, rng)
        history.append(_view(len(history), tok_s, "final", box.level, replicate_of=number))
    return Played(
        early=decide(search, box.level, Limits()),
        verdict=decide(history, box.level, Limits()),
        truths=truths,
        finals=len(finalists),
        best_finalist=max(finalists),
    )


def _search(ground: Ground, rng: np.random.Generator) -> tuple[list[TrialView], dict[int, float]]:
    """The boots before the finals that worked, the baseline first, and their true logarithms."""
    box, settings = ground.box, ground.baseline(rng)
    views: list[TrialView] = []
    truths: dict[int, float] = {}
    best: tuple[float, Settings] = (0.0, settings)
    tried: set[Hashable] = {ground.space.canonical(settings)}
    for boot in range(SEARCH_BOOTS):
        if boot:
            settings = _untried(ground, best[1], tried, rng)
        if not (truth := box.true_value(settings)):
            continue
        number = len(views)
        truths[number] = math.log(truth)
        tok_s = _measured(truths[number], box, rng)
        views.append(_view(number, tok_s, "search" if boot else "baseline", box.level))
        best = max(best, (tok_s, settings), key=lambda found: found[0])
    return views, truths


def _untried(ground: Ground, best: Settings, tried: set[Hashable], rng: np.random.Generator) -> Settings:
    while True:
        local = rng.random() < LOCAL_SHARE
        settings = ground.changed(best, rng) if local else ground.drawn(rng)
        if (key := ground.space.canonical(settings)) not in tried:
            tried.add(key)
            return settings


def _measured(truth: float, box: AnalyticBox, rng: np.random.Generator) -> float:
    return math.exp(truth + rng.normal(0.0, box.noise))


def _view(number: int, tok_s: float, role: str, level: int, replicate_of: int | None = None) -> TrialView:
    """A boot that worked; its settings are known by the number of their first trial alone."""
    measurement = Measurement.model_construct(level=level, decode_tok_s=tok_s, decode_tok_s_ci95=None)
    key = number if replicate_of is None else replicate_of
    return TrialView(
        number,
        TrialState.COMPLETE,
        {},
        key,
        key,
        role=role,
        value=tok_s,
        replicate_of=replicate_of,
        measurements=(measurement,),
    )
