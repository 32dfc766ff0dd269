"""A study as its readers see it: one snapshot of the file, with the verdict that it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from optuna.trial import TrialState
from sqlalchemy import Connection

from autotune.search import SearchSpace
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

    @property
    def name(self) -> str:
        return self.card.name

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
        return decide(
            self.trials,
            self.bench.main_level if level is None else level,
            self.limits,
            pinned=self.pinned,
            simulated=self.card.simulated,
        )


def read_study(connection: Connection) -> StudyView:
    """Read a study as it stands.

    Raises:
        StudyFileError: If its first run is still setting it up.
    """
    card = queries.study(connection)
    if card is None:
        raise StudyFileError("the study is empty: its first run has not begun yet")
    rows = queries.trials(connection, with_results=True)
    canonical = SearchSpace.from_dict(card.spec["space_table"]).canonical
    suspects = set(queries.suspects(connection))
    trials = [_view(row, canonical, row.number in suspects) for row in rows]
    return StudyView(card, rows, trials, queries.pinned_baseline(connection))


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
    )
