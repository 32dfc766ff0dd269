"""Below which throughput a measurement is given up."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.trial_view import TrialView
from trials.settings import BenchPlan

FAR_BELOW = 0.6
"""Share of the best so far: more than any noise between boots, less than any setting worth a second look."""


def hopeless_below(history: Sequence[TrialView], bench: BenchPlan, role: str) -> float | None:
    """tok/s at the main level, None to measure to the end.

    With several levels nothing is given up: what is slow for one stream may win at many. Replicates on
    purpose (baseline, canary, finals) are always measured whole.
    """
    if not bench.stop_hopeless or len(bench.levels) > 1 or role != "search":
        return None
    best = max((trial.value for trial in history if trial.value is not None), default=None)
    return None if best is None else FAR_BELOW * best
