"""A study as its readers see it: one snapshot of the file, with the verdict that it gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from optuna.trial import TrialState
from sqlalchemy import Connection

from autotune.search import SearchSpace
from autotune.search.ruled_out import ruled_out
from autotune.trial_view import Canonical, TrialView
from autotune.verdict import Verdict, decide
from db import queries
from db.errors import StudyFileError
from db.outcomes import read_outcome
from db.rows import StudyRow, TrialRow
from trials.settings import BenchPlan, Limits, ServerPlan


@dataclass(frozen=True)
class StudyView:
    """What one reading of a study file gave.

    Attributes:
        rows: Trials as the tables have them, in order.
        trials: The same trials as the verdict sees them.
        pinned: Trial that the user made the baseline, None for the study's own.
    """

    card: StudyRow
    rows: Sequence[TrialRow]
    trials: Sequence[TrialView]
    pinned: int | None
    _verdicts: dict[int, Verdict] = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.card.name

    @cached_property
    def space(self) -> SearchSpace:
        return SearchSpace.from_dict(self.card.spec["space_table"])

    @cached_property
    def places(self) -> Mapping[int, int]:
        """Where each trial number stands in ``rows`` and ``trials``."""
        return {row.number: place for place, row in enumerate(self.rows)}

    def row(self, number: int) -> TrialRow | None:
        place = self.places.get(number)
        return None if place is None else self.rows[place]

    @cached_property
    def ruled_out(self) -> Sequence[Mapping[str, Any]]:
        """Boots that the memory pre-flight saved: ``settings``, and the ``proof`` that they are dead."""
        return ruled_out((row.proposal for row in self.rows), self.space)

    @cached_property
    def server(self) -> ServerPlan:
        return ServerPlan.model_validate(self.card.spec["server"])

    @cached_property
    def bench(self) -> BenchPlan:
        return BenchPlan.model_validate(self.card.spec["bench"])

    @cached_property
    def limits(self) -> Limits:
        return Limits.model_validate(self.card.spec["limits"])

    def verdict(self, level: int | None = None) -> Verdict:
        """Who won at a level; left out: the study's main level."""
        level = self.bench.main_level if level is None else level
        if level not in self._verdicts:
            self._verdicts[level] = decide(
                self.trials, level, self.limits, pinned=self.pinned, simulated=self.card.simulated
            )
        return self._verdicts[level]


def read_study(connection: Connection) -> StudyView:
    """Read a study as it stands.

    Raises:
        StudyFileError: If its first run is still setting it up.
    """
    return StudyReading().read(connection)


class StudyReading:
    """Reads one study again and again; what cannot change any more is read once.

    A trial that Optuna has been told is final, all but the suspicion that the machine was to blame.
    """

    def __init__(self) -> None:
        self._last: StudyView | None = None
        self._suspects: frozenset[int] = frozenset()

    def read(self, connection: Connection) -> StudyView:
        """The study as it stands; the very same object when nothing in it has changed.

        Raises:
            StudyFileError: If its first run is still setting it up.
        """
        card = queries.study(connection)
        if card is None:
            raise StudyFileError("the study is empty: its first run has not begun yet")
        last = self._last if self._last and self._last.card.uuid == card.uuid else None
        kept = _told_at_the_front(last.rows) if last else 0
        first = last.rows[kept - 1].number + 1 if last and kept else 0
        fresh = queries.trials(connection, with_results=True, first=first)
        suspects = frozenset(queries.suspects(connection))
        pinned = queries.pinned_baseline(connection)
        if last and self._is_same(last, card, fresh, kept, suspects, pinned):
            return last
        self._last = _extended(last, kept, card, fresh, suspects, pinned)
        self._suspects = suspects
        return self._last

    def _is_same(
        self,
        last: StudyView,
        card: StudyRow,
        fresh: Sequence[TrialRow],
        kept: int,
        suspects: frozenset[int],
        pinned: int | None,
    ) -> bool:
        unchanged = last.card == card and last.pinned == pinned and self._suspects == suspects
        return unchanged and list(last.rows[kept:]) == list(fresh)


def _told_at_the_front(rows: Sequence[TrialRow]) -> int:
    """How many trials, from the first on, are final."""
    return next((place for place, row in enumerate(rows) if not row.is_told), len(rows))


def _extended(
    last: StudyView | None,
    kept: int,
    card: StudyRow,
    fresh: Sequence[TrialRow],
    suspects: frozenset[int],
    pinned: int | None,
) -> StudyView:
    canonical = SearchSpace.from_dict(card.spec["space_table"]).canonical
    rows = list(last.rows[:kept]) if last else []
    trials = [_suspected(trial, suspects) for trial in last.trials[:kept]] if last else []
    return StudyView(
        card,
        [*rows, *fresh],
        [*trials, *(_view(row, canonical, row.number in suspects) for row in fresh)],
        pinned,
    )


def _suspected(trial: TrialView, suspects: frozenset[int]) -> TrialView:
    suspect = trial.number in suspects
    return trial if trial.suspect == suspect else replace(trial, suspect=suspect)


def _view(row: TrialRow, canonical: Canonical, suspect: bool) -> TrialView:
    settings = dict(row.settings or {})
    outcome = read_outcome(row.outcome, row.result) if row.outcome and row.result else None
    ran = dict(outcome.ran) if outcome else {}
    return TrialView(
        number=row.number,
        state=TrialState[row.state],
        settings=settings,
        key=canonical({**settings, **ran}),
        asked=canonical(settings),
        role=row.role,
        value=row.value,
        replicate_of=row.replicate_of,
        ran=ran,
        measurements=outcome.measurements if outcome else (),
        boot=outcome.boot if outcome else None,
        failure=getattr(outcome, "failure", None),
        p_boots=(row.proposal or {}).get("p_boots"),
        suspect=suspect,
        started=datetime.fromisoformat(row.started_at) if row.started_at else None,
    )
