"""Which throughput is too low to be measured to its end, and which is high enough to be soaked."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.trial_view import TrialView
from trials.settings import BenchPlan

FAR_BELOW = 0.6
"""Share of the best so far: more than any noise between boots, less than any setting worth a second look."""


NEAR_THE_BEST = 0.95
"""Share of the best so far from which a setting may turn out to be the winner, noise allowed."""


def soak_above(history: Sequence[TrialView]) -> float:
    """tok/s at the main level from which a setting must survive a soak."""
    return NEAR_THE_BEST * (_best(history) or 0.0)


def hopeless_below(history: Sequence[TrialView], bench: BenchPlan, role: str) -> float | None:
    """tok/s at the main level, None to measure to the end.

    With several levels nothing is given up: what is slow for one stream may win at many. Replicates on
    purpose (baseline, canary, finals) are always measured whole.
    """
    if not bench.stop_hopeless or len(bench.levels) > 1 or role != "search":
        return None
    best = _best(history)
    return None if best is None else FAR_BELOW * best


def _best(history: Sequence[TrialView]) -> float | None:
    return max((trial.value for trial in history if trial.value is not None), default=None)
