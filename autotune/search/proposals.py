"""From beliefs to one proposal, with the sentence that says why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from autotune.search.acquisition import log_expected_improvement, worth
from autotune.search.belief import Belief, Standing
from autotune.search.candidates import candidates, neighbours, tidy, unswept
from autotune.search.codec import Codec, Matrix, Rows
from autotune.search.feasibility import Feasibility
from autotune.search.history import History
from autotune.search.limits import LimitModel
from autotune.search.memory import MemoryWindow
from autotune.search.parameters import Settings, Value
from autotune.search.preflight import Preflight
from autotune.search.space import Key

_PARENTS = 8
_CLIMBS, _CLIMBERS, _NO_GAIN = 12, 2, 1e-3
_REPLICATE_AFTER = 20
_REPLICATE_EVERY = 30
_WORTHWHILE = 0.5
_SWEEP_CHANCE, _STUCK_AFTER, _DOUBT = 0.3, 4, 2.0
_CURIOSITY, _PARSIMONY = 0.7, 0.01
_LARGEST_ENUMERATION = 50_000
_INTERVAL = 1.96


class SpaceUsedUpError(RuntimeError):
    """Every setting of the space has been tried, is forbidden, or is proven dead."""


class Judge(Protocol):
    """Says what boots; ``FeasibilityModel`` is one."""

    def judge(self, values: Matrix) -> Feasibility: ...


@dataclass(frozen=True)
class Proposal:
    """What to boot next.

    Attributes:
        settings: Every parameter, conditionals that do not count included.
        why: One sentence.
        parent: Trial whose settings were changed, None if none.
        changes: Setting to [from, to].
        p_boots: Probability that it boots.
        expected: Interval of the objective, in its unit, None while nothing has worked.
        replicate_of: Trial that this repeats on purpose.
        ruled_out: Settings that looked better and are proven dead, with the proof.
    """

    settings: Settings
    why: str
    parent: int | None
    changes: dict[str, list[Value | None]]
    p_boots: float
    expected: tuple[float, float] | None
    replicate_of: int | None = None
    ruled_out: tuple[dict[str, Any], ...] = ()

    def attribute(self) -> dict[str, Any]:
        """As stored on the trial under ``proposal``."""
        return {
            "why": self.why,
            "parent": self.parent,
            "changes": self.changes,
            "p_boots": round(self.p_boots, 4),
            "expected": None if self.expected is None else [round(bound, 3) for bound in self.expected],
            "ruled_out": list(self.ruled_out),
        }


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
        exploring: Look where nobody has been persuaded yet, rather than at what the fit finds relevant.
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
        exploring: bool = False,
    ) -> None:
        self._codec, self._history, self._judge, self._preflight = codec, history, judge, preflight
        self._forbidden, self._rng, self._exploring = forbidden, rng, exploring
        self._window = MemoryWindow(codec, history.ended("good", "stopped", "crash"))
        measured = [seen for seen in history.ended("good", "stopped") if seen.score is not None]
        self._belief = Belief(codec, history, self._window, limits) if measured else None
        self._limits = LimitModel(codec, self._window, history.ended("good"), limits)
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
        pool = self._sweep() if self._exploring and self._stuck() else None
        if pool is None:
            pool = self._climb(self._score(candidates(self._codec, self._parents, self._rng)))
        found = self._first_free(pool)
        if found is None:
            found = self._first_free(self._score(self._everything()))
        if found is None:
            raise SpaceUsedUpError(
                "every combination of the space has been tried or cannot run; widen [space]"
            )
        row, boots = found
        return self._explain(row, boots, self._ruled_out(pool, row))

    def _stuck(self) -> bool:
        """Whether the last few boots brought nothing better."""
        if self._belief is None:
            return False
        best = self._belief.incumbent.seen.number
        return sum(one.number > best for one in self._history.ended("good", "crash")) >= _STUCK_AFTER

    def _sweep(self) -> _Scored | None:
        """Single changes of the incumbent to what nothing near it has tried; None when all has been.

        What a setting did elsewhere need not hold here: the sweep looks again, the unlikely last.
        """
        if self._belief is None:
            return None
        rows = unswept(self._codec, self._parents[0], self._finished)
        if not len(rows):
            return None
        pool = self._score(rows)
        new = [self._key(self._codec.settings(row)) not in self._history.taken for row in rows]
        kept = np.flatnonzero((pool.boots >= _SWEEP_CHANCE) & np.array(new))
        return _Scored(*(part[kept] for part in _parts(pool))) if len(kept) else None

    def _parent_rows(self) -> list[Rows]:
        if self._belief is None:
            return []
        standings = self._belief.standings[:_PARENTS]
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

    def _score(self, rows: Rows) -> _Scored:
        values = self._codec.values(rows)
        feasible = self._judge.judge(values)
        if self._belief is None:
            promise = np.zeros(len(rows))
            return _Scored(rows, np.log(feasible.boots + 1e-12), promise, feasible.boots)
        units = self._window.inputs(values)
        mean, deviation = self._belief.wonder(units) if self._exploring else self._belief.predict(units)
        goal = self._belief.incumbent.mean + _WORTHWHILE * self._belief.noise.deviation
        promise = log_expected_improvement(mean, deviation * (_DOUBT if self._exploring else 1.0), goal)
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
        expected = self._expected(row)
        return Proposal(self._codec.settings(row), why, number, {}, 1.0, expected, replicate_of=number)

    def _expected(self, row: Rows) -> tuple[float, float] | None:
        if self._belief is None:
            return None
        mean, deviation = self._belief.predict(self._window.inputs(self._codec.values(row[None, :])))
        ends = [float(mean[0]) + side * _INTERVAL * float(deviation[0]) for side in (-1, 1)]
        low, high = sorted(self._history.value_of(self._belief.unwarp(end)) for end in ends)
        return low, high

    def _explain(self, row: Rows, boots: float, ruled_out: tuple[dict[str, Any], ...]) -> Proposal:
        settings = self._codec.settings(row)
        active = self._codec.space.active(settings)
        if self._belief is None:
            why = f"Nothing has worked yet: the settings most likely to boot ({boots:.0%})."
            return Proposal(settings, why, None, {}, boots, None, ruled_out=ruled_out)
        parent = _closest(self._belief.standings[:_PARENTS], active)
        changes = _changes(parent.seen.settings, active)
        expected = self._expected(row)
        why = self._sentence(parent, changes, boots, expected)
        number = parent.seen.number if parent.seen.number >= 0 else None
        return Proposal(settings, why, number, changes, boots, expected, ruled_out=ruled_out)

    def _sentence(
        self,
        parent: Standing,
        changes: Mapping[str, list[Value | None]],
        boots: float,
        expected: tuple[float, float] | None,
    ) -> str:
        moves = ", ".join(f"{name} {_shown(old)} -> {_shown(new)}" for name, (old, new) in changes.items())
        untried = self._untried(changes)
        value = "" if parent.seen.value is None else f" ({parent.seen.value:.4g})"
        source = (
            f"trial {parent.seen.number}{value}" if parent.seen.number >= 0 else f"an earlier study{value}"
        )
        news = f"; never measured before: {', '.join(untried)}" if untried else ""
        reach = "" if expected is None else f", {expected[0]:.4g} to {expected[1]:.4g} expected"
        return f"From {source}: {moves}{news}; {boots:.0%} likely to boot{reach}."

    def _untried(self, changes: Mapping[str, list[Value | None]]) -> list[str]:
        seen = {
            (name, value)
            for one in self._history.ended("good", "stopped")
            for name, value in one.settings.items()
        }
        categorical = {
            name
            for name, unordered in zip(self._codec.names, self._codec.categorical, strict=True)
            if unordered
        }
        return [
            f"{name} {_shown(new)}"
            for name, (_, new) in changes.items()
            if name in categorical and new is not None and (name, new) not in seen
        ]


def _parts(pool: _Scored) -> Iterable[Any]:
    return pool.rows, pool.score, pool.promise, pool.boots


def _closest(standings: list[Standing], active: Settings) -> Standing:
    return min(standings, key=lambda standing: len(_changes(standing.seen.settings, active)))


def _changes(old: Settings, new: Settings) -> dict[str, list[Value | None]]:
    names = sorted(old.keys() | new.keys())
    return {name: [old.get(name), new.get(name)] for name in names if old.get(name) != new.get(name)}


def _shown(value: Value | None) -> str:
    return "unset" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
