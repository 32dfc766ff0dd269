"""A night on an analytic box without servers and without the sampler: search, finals, verdict."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from optuna.trial import TrialState

from autotune.night.finals import LONG_FINALS, Finals
from autotune.search import SearchSpace, Settings
from autotune.search.parameters import Value
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

_DRAWN_FOR_BASELINE = 15


@dataclass
class Ground:
    """A box with what is known of it without noise."""

    box: AnalyticBox
    grid: dict[str, tuple[Value, ...]] = field(init=False)
    space: SearchSpace = field(init=False)
    _truths: dict[Hashable, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.space = SearchSpace.from_dict(self.box.table)
        self.grid = {name: places(parameter) for name, parameter in self.space.parameters.items()}

    def truth(self, settings: Settings) -> float:
        key = self.space.canonical(settings)
        if key not in self._truths:
            self._truths[key] = self.box.true_value(settings)
        return self._truths[key]

    def drawn(self, rng: np.random.Generator) -> Settings:
        return {name: values[rng.integers(len(values))] for name, values in self.grid.items()}

    def changed(self, settings: Settings, rng: np.random.Generator) -> Settings:
        names = rng.choice(list(self.grid), size=rng.integers(1, 3), replace=False)
        return settings | {name: self.grid[name][rng.integers(len(self.grid[name]))] for name in names}

    def baseline(self, rng: np.random.Generator) -> Settings:
        """Middling among settings that boot."""
        found: list[Settings] = []
        while len(found) < _DRAWN_FOR_BASELINE:
            if self.truth(settings := self.drawn(rng)):
                found.append(settings)
        return sorted(found, key=self.truth)[_DRAWN_FOR_BASELINE // 2]


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


def play(ground: Ground, gain: Gain, seed: int) -> Played:
    """One night; everything follows from the seed."""
    rng = np.random.default_rng([seed, 5])
    search, truths = _search(ground, rng)
    best = max(truths[number] for number in truths if number)
    if gain != "as it comes":
        truths[0] = best - math.log(1.06) if gain == "6 %" else best
        search[0] = _view(
            0, search[0].key, _measured(truths[0], ground.box, rng), "baseline", ground.box.level
        )
    level = ground.box.level
    history = list(search)
    finals = Finals(level, Limits(), seed)
    finalists = []
    while (request := finals.next(history, LONG_FINALS)) is not None:
        number = request.replicate_of or 0
        finalists.append(truths[number])
        tok_s = _measured(truths[number], ground.box, rng)
        history.append(_view(len(history), search[number].key, tok_s, "final", level, replicate_of=number))
    return Played(
        early=decide(search, level, Limits()),
        verdict=decide(history, level, Limits()),
        truths=truths,
        finals=len(finalists),
        best_finalist=max(finalists),
    )


def _search(ground: Ground, rng: np.random.Generator) -> tuple[list[TrialView], dict[int, float]]:
    """The boots before the finals that worked, the baseline first, and their true logarithms."""
    settings = ground.baseline(rng)
    views: list[TrialView] = []
    truths: dict[int, float] = {}
    best: tuple[float, Settings] = (0.0, settings)
    tried: set[Hashable] = set()
    for boot in range(SEARCH_BOOTS):
        if boot:
            settings = _untried(ground, best[1], tried, rng)
        tried.add(ground.space.canonical(settings))
        if not (truth := ground.truth(settings)):
            continue
        number = len(views)
        truths[number] = math.log(truth)
        tok_s = _measured(truths[number], ground.box, rng)
        role = "search" if boot else "baseline"
        views.append(_view(number, ground.space.canonical(settings), tok_s, role, ground.box.level))
        best = max(best, (tok_s, settings), key=lambda found: found[0])
    return views, truths


def _untried(ground: Ground, best: Settings, tried: set[Hashable], rng: np.random.Generator) -> Settings:
    while True:
        local = rng.random() < LOCAL_SHARE
        settings = ground.changed(best, rng) if local else ground.drawn(rng)
        if ground.space.canonical(settings) not in tried:
            return settings


def _measured(truth: float, box: AnalyticBox, rng: np.random.Generator) -> float:
    return math.exp(truth + rng.normal(0.0, box.noise))


def _view(
    number: int, key: Hashable, tok_s: float, role: str, level: int, replicate_of: int | None = None
) -> TrialView:
    measurement = Measurement.model_construct(level=level, decode_tok_s=tok_s, decode_tok_s_ci95=None)
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
