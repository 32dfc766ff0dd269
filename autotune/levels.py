"""The winner of every load level, and where it changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from autotune.trial_view import TrialView
from autotune.verdict import Verdict, decide, streams
from trials.settings import Limits


def by_level(
    trials: Sequence[TrialView],
    levels: Sequence[int],
    limits: Limits,
    *,
    pinned: int | None = None,
    simulated: bool = False,
) -> list[Verdict]:
    """One verdict a level, in the order given.

    Every boot measures all levels, so each has its own winner. Finalists are chosen at the main level; at
    another one a verdict is confirmed only where the settings that led there were in the finals.
    """
    return [decide(trials, level, limits, pinned=pinned, simulated=simulated) for level in levels]


def winner_changes(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """One sentence for each load from which on other settings win, lowest first."""
    won = sorted((verdict for verdict in verdicts if verdict.best is not None), key=lambda v: v.level)
    return tuple(
        f"From {streams(after.level)} on trial {after.best} is better than trial {before.best}."
        for before, after in pairwise(won)
        if after.best != before.best
    )
