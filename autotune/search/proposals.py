"""From beliefs to one proposal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from autotune.search.acquisition import LEAST_CHANCE, log_expected_improvement, worth
from autotune.search.belief import Belief
from autotune.search.candidates import candidates, neighbours, tidy, unswept
from autotune.search.codec import Codec, Matrix, Rows
from autotune.search.explanations import PARENTS, Explainer, Proposal
from autotune.search.feasibility import Feasibility
from autotune.search.history import History
from autotune.search.limits import LimitModel
from autotune.search.memory import MemoryWindow
from autotune.search.parameters import Settings
from autotune.search.preflight import Preflight
from autotune.search.space import Key

_CLIMBS, _CLIMBERS, _NO_GAIN = 12, 2, 1e-3
_REPLICATE_AFTER = 20
_REPLICATE_EVERY = 30
_WORTHWHILE = 0.5
_WORTH_A_SWEEP, _DOUBT = 0.3, 2.0
_CURIOSITY, _PARSIMONY = 0.7, 0.01
_LARGEST_ENUMERATION = 50_000


class SpaceUsedUpError(RuntimeError):
    """Every setting of the space has been tried, is forbidden, or is proven dead."""


class Judge(Protocol):
    """Says what boots; ``FeasibilityModel`` is one."""

    def judge(self, values: Matrix) -> Feasibility: ...


@dataclass(frozen=True)
class _Scored:
    rows: Rows
    score: Matrix
    promise: Matrix
    boots: Matrix


class Proposer:
    """Chooses the next boot from one reading of the study.

    Args:
        codec: Of the space.
        history: What is known.
        judge: What boots.
        preflight: What memory proves.
        limits: What a winner must keep.
        forbidden: Reason against settings that count, or None.
        rng: Random numbers of this ask.
        sweeping: Try single changes of the incumbent, as long as some are new and promise anything.
        unit: Of the objective, for the sentence of the proposal.
    """

    def __init__(
        self,
        codec: Codec,
        history: History,
        judge: Judge,
        preflight: Preflight,
        limits: Mapping[str, float],
        forbidden: Callable[[Settings], str | None] | None,
        rng: np.random.Generator,
        *,
        sweeping: bool = False,
        unit: str = "",
    ) -> None:
        self._codec, self._history, self._judge, self._preflight = codec, history, judge, preflight
        self._forbidden, self._rng, self._sweeping = forbidden, rng, sweeping
        self._window = MemoryWindow(codec, history.ended("good", "stopped", "crash"))
        measured = [seen for seen in history.ended("good", "stopped") if seen.score is not None]
        self._belief = Belief(codec, history, self._window, limits) if measured else None
        self._limits = LimitModel(codec, self._window, history.ended("good"), limits)
        self._explainer = Explainer(codec, history, self._window, self._belief, unit)
        self._parents = self._parent_rows()
        tried = codec.values_of(
            [seen.settings for seen in history.ended("good", "stopped", "crash", "pending")]
        )
        self._finished = np.array(
            [codec.row(one.settings) for one in history.ended("good", "stopped", "crash")]
        )
        self._tried = {int(at): tried[:, at] for at in np.flatnonzero(codec.categorical)}

    def propose(self) -> Proposal:
        """The next boot.

        Raises:
            SpaceUsedUpError: If nothing is left.
        """
        again = self._replicate()
        if again is not None:
            return again
        pool = self._sweep()
        found = self._first_free(pool) if pool is not None else None
        if pool is None or found is None:
            pool = self._climb(self._score(candidates(self._codec, self._parents, self._rng)))
            found = self._first_free(pool) or self._first_free(self._score(self._everything()))
        if found is None:
            raise SpaceUsedUpError(
                "every combination of the space has been tried or cannot run; widen [space]"
            )
        row, boots = found
        return self._explainer.explain(row, boots, self._ruled_out(pool, row))

    def _sweep(self) -> _Scored | None:
        """Single changes of the incumbent to what nothing near it has tried; None: not now, or all has been.

        What a setting did elsewhere need not hold here: the sweep looks again, doubting what is believed,
        and leaves what even so promises nothing.
        """
        if self._belief is None or not self._sweeping:
            return None
        rows = unswept(self._codec, self._parents[0], self._finished, self._window.inputs)
        if not len(rows):
            return None
        pool = self._score(rows, doubt=_DOUBT)
        least = np.log(_WORTH_A_SWEEP * self._belief.noise.deviation)
        new = [self._key(self._codec.settings(row)) not in self._history.taken for row in rows]
        kept = np.flatnonzero((pool.boots >= LEAST_CHANCE) & (pool.promise >= least) & np.array(new))
        return _Scored(*(part[kept] for part in _parts(pool))) if len(kept) else None

    def _parent_rows(self) -> list[Rows]:
        if self._belief is None:
            return []
        standings = self._belief.standings[:PARENTS]
        return [self._completed(standing.seen.settings) for standing in standings]

    def _completed(self, settings: Settings) -> Rows:
        """A row, its idle conditionals borrowed from the best boot that used them, else from the middle."""
        assert self._belief is not None
        filled = dict(settings)
        for standing in self._belief.standings:
            for name, value in standing.seen.settings.items():
                filled.setdefault(name, value)
        for name, grid in zip(self._codec.names, self._codec.grids, strict=True):
            filled.setdefault(name, grid[(len(grid) - 1) // 2])
        return self._codec.row(filled)

    def _score(self, rows: Rows, *, doubt: float = 1.0) -> _Scored:
        """Worth of rows; ``doubt`` multiplies how unsure the model is."""
        values = self._codec.values(rows)
        feasible = self._judge.judge(values)
        if self._belief is None:
            promise = np.zeros(len(rows))
            return _Scored(rows, np.log(feasible.boots + 1e-12), promise, feasible.boots)
        units = self._window.inputs(values)
        mean, deviation = self._belief.predict(units)
        goal = self._belief.incumbent.mean + _WORTHWHILE * self._belief.noise.deviation
        promise = log_expected_improvement(mean, deviation * doubt, goal)
        score = worth(promise, feasible.boots, self._limits.chances(units), feasible.cost)
        score = score + self._curiosity(values) - _PARSIMONY * self._distance(rows)
        return _Scored(rows, score, promise, feasible.boots)

    def _curiosity(self, values: Matrix) -> Matrix:
        """A bonus for each category that no boot has tried yet, two at a time at most."""
        untried = np.zeros(len(values))
        for at, known in self._tried.items():
            untried += ~np.isnan(values[:, at]) & ~np.isin(values[:, at], known)
        return _CURIOSITY * np.minimum(untried, 2.0)

    def _distance(self, rows: Rows) -> Matrix:
        """Settings changed, against the nearest parent."""
        counts = self._codec.activity(rows)
        apart = [np.sum((rows != parent) & counts, axis=1) for parent in self._parents]
        return np.asarray(np.min(np.stack(apart), axis=0), dtype=float)

    def _climb(self, pool: _Scored) -> _Scored:
        """Improve the best few by single changes for as long as that helps."""
        for _ in range(_CLIMBS):
            best = np.argsort(-pool.score, kind="stable")[:_CLIMBERS]
            top = pool.score[best[0]]
            rows = tidy(self._codec, np.concatenate([neighbours(self._codec, pool.rows[at]) for at in best]))
            more = self._score(rows)
            pool = _Scored(
                *(np.concatenate([old, new]) for old, new in zip(_parts(pool), _parts(more), strict=True))
            )
            if pool.score.max() <= top + _NO_GAIN:
                break
        return pool

    def _first_free(self, pool: _Scored) -> tuple[Rows, float] | None:
        """The best that is new, allowed and not proven dead."""
        refused: set[Key] = set()
        for at in np.argsort(-pool.score, kind="stable"):
            settings = self._codec.settings(pool.rows[at])
            key = self._key(settings)
            if key in self._history.taken or key in refused:
                continue
            active = self._codec.space.active(settings)
            if self._replaced(active) or self._reason_against(active) is not None:
                refused.add(key)
            elif self._preflight.proof(active) is None:
                return pool.rows[at], float(pool.boots[at])
            else:
                refused.add(key)
        return None

    def _key(self, settings: Settings) -> Key:
        return self._codec.space.canonical(settings)

    def _replaced(self, active: Settings) -> bool:
        """Whether the server would run another value that could be asked for itself."""
        used = self._history.replaced
        parameters = self._codec.space.parameters
        return any(
            (name, value) in used and used[name, value] in (parameters[name].values or ())
            for name, value in active.items()
        )

    def _reason_against(self, active: Settings) -> str | None:
        return self._forbidden(active) if self._forbidden is not None else None

    def _everything(self) -> Rows:
        """The whole space if it is small, else a large draw."""
        total = float(np.prod(self._codec.sizes.astype(float)))
        if total > _LARGEST_ENUMERATION:
            return tidy(self._codec, self._codec.draw(self._rng, _LARGEST_ENUMERATION // 10))
        grid = (
            np.indices(tuple(int(size) for size in self._codec.sizes)).reshape(len(self._codec.sizes), -1).T
        )
        return tidy(self._codec, grid.astype(np.int64))

    def _ruled_out(self, pool: _Scored, chosen: Rows) -> tuple[dict[str, Any], ...]:
        """The most promising settings, were memory no matter, if they are proven dead."""
        if self._belief is None:
            return ()
        at = int(np.argmax(pool.promise))
        settings = self._codec.space.active(self._codec.settings(pool.rows[at]))
        if self._key(settings) in self._history.taken or np.array_equal(pool.rows[at], chosen):
            return ()
        proof = self._preflight.proof(settings)
        return () if proof is None else ({"settings": settings, "proof": proof},)

    def _replicate(self) -> Proposal | None:
        """The incumbent once more, when the noise is unknown or its lead rests on one boot for long."""
        if self._belief is None:
            return None
        good = len(self._history.ended("good"))
        repeats = self._belief.noise.certainty
        incumbent = self._belief.incumbent
        due = good >= _REPLICATE_AFTER + _REPLICATE_EVERY * repeats
        if not due or incumbent.seen.ending != "good" or self._codec.space.missing(incumbent.seen.settings):
            return None
        row = self._completed(incumbent.seen.settings)
        if self._key(self._codec.settings(row)) != self._codec.space.canonical(incumbent.seen.settings):
            return None
        number = incumbent.seen.number
        why = f"Repeats trial {number}, the best so far, to learn how much boots of the same settings differ."
        expected = self._explainer.expected(row)
        return Proposal(self._codec.settings(row), why, number, {}, 1.0, expected, replicate_of=number)


def _parts(pool: _Scored) -> Iterable[Any]:
    return pool.rows, pool.score, pool.promise, pool.boots
