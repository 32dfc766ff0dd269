"""Where a study stands: is it running, how many trials ended how, what is left of the night."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from autotune.liveness import RunState, run_state
from autotune.moments import seconds_between
from autotune.study_view import StudyView
from db import queries
from db.outcomes import OUTCOME_WORDS
from db.rows import RunRow, TrialRow

OUTCOME_LABELS = {
    "running": "running",
    "completed": "worked",
    "stopped": "stopped early",
    "settings_failed": "failed",
    "environment_failed": "machine failed",
    "interrupted": "interrupted",
}
"""How trials ended, for people; outcomes as ``db.outcomes`` words them."""
SHOWN_OUTCOMES = {**OUTCOME_LABELS, "died": "died with the runner"}
"""The same as it is shown; ``shown_outcome`` tells which."""
_RECENT_TRIALS = 50
"""A night's pace is that of its newest trials, this many."""


@dataclass(frozen=True)
class Standing:
    """A study's newest run and what it has done.

    Attributes:
        run: The newest run, None before the first.
        counts: Trials by outcome, with "running" and "total".
        boots: Server starts so far.
        boots_left: Server starts still planned, None where nobody planned.
        seconds_left: Until the night's end, s; None unless it runs and its end can be told.
        boots_saved: Server starts that the memory pre-flight made needless.
    """

    state: RunState
    run: RunRow | None
    counts: Mapping[str, int]
    boots: int
    boots_left: int | None
    seconds_left: float | None
    boots_saved: int

    @property
    def saved_words(self) -> str | None:
        """What the memory pre-flight was good for, None where it ruled nothing out."""
        if not self.boots_saved:
            return None
        boots = "1 boot" if self.boots_saved == 1 else f"{self.boots_saved} boots"
        return f"{boots} by the memory pre-flight: settings that looked best, but are proven to lack memory"

    @property
    def goes_on(self) -> bool:
        """Somebody runs it, here or on another machine."""
        return self.state.goes_on

    def plan_json(self) -> dict[str, Any]:
        return {
            "boots": self.boots,
            "boots_planned": self.run.boots_planned if self.run else None,
            "boots_left": self.boots_left,
            "boots_saved": self.boots_saved,
            "ends_by": self.run.ends_by if self.run else None,
            "seconds_left": self.seconds_left,
        }


def read_standing(connection: Connection, study: StudyView) -> Standing:
    """Judge a study as it stands in its file."""
    runs = queries.runs(connection)
    return standing(study, runs[-1] if runs else None, queries.boot_count(connection))


def standing(study: StudyView, run: RunRow | None, boots: int) -> Standing:
    """Judge a study by its trials, its newest run and its server starts."""
    rows = study.rows
    state = run_state(run)
    planned = run.boots_planned if run else None
    boots_left = None if planned is None else max(0, planned - boots)
    seconds_left = _seconds_left(rows, run, boots_left) if run and state.goes_on else None
    counts = count_outcomes(rows)
    return Standing(state, run, counts, boots, boots_left, seconds_left, len(study.ruled_out))


def shown_outcome(outcome: str | None, state: str) -> str:
    """An outcome as one of a study in this state is shown: nothing runs on under a runner that died."""
    if outcome == "running" and state == "died":
        return "died"
    return outcome or "interrupted"


def count_outcomes(rows: Sequence[TrialRow]) -> dict[str, int]:
    """Trials by outcome; "running" are those that have not ended."""
    seen = Counter(row.outcome or ("interrupted" if row.is_told else "running") for row in rows)
    words = ("running", *OUTCOME_WORDS.values())
    return {"total": len(rows), **{word: seen[word] for word in words}}


def _seconds_left(rows: Sequence[TrialRow], run: RunRow, boots_left: int | None) -> float | None:
    """To the deadline, or as long as the planned boots take at the pace so far, whichever is sooner."""
    estimates = []
    if run.ends_by:
        estimates.append(-seconds_between(run.ends_by))
    if boots_left is not None and (pace := _seconds_a_trial(rows)):
        estimates.append(boots_left * pace)
    return max(0.0, min(estimates)) if estimates else None


def _seconds_a_trial(rows: Sequence[TrialRow]) -> float | None:
    recent = rows[-_RECENT_TRIALS:]
    took = [
        seconds_between(row.started_at, row.ended_at) for row in recent if row.started_at and row.ended_at
    ]
    return sum(took) / len(took) if took else None
