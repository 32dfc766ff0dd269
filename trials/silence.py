"""How long a silent server is waited for at each stage: what earlier boots have taught, else a floor."""

from __future__ import annotations

from collections.abc import Mapping

from trials.load import Patience
from trials.outcome import Stage
from trials.sanity.check import PATIENCE_S
from trials.settings import TrialPlan

FLOOR_S: Mapping[Stage, float] = {
    Stage.START: 180,
    Stage.INIT_DISTRIBUTED: 180,
    Stage.LOAD_WEIGHTS: 900,
    Stage.KV_POOL: 180,
    Stage.GRAPH_CAPTURE: 600,
    Stage.WARM_UP: 300,
    Stage.READY: 120,
    Stage.CHECK: PATIENCE_S,
}
"""Longest silence that is waited for when nothing was learned yet, s.

Of a boot it is the log's silence: loading and capturing print progress, but a cold page cache or a JIT
compiler can be quiet for minutes. Of a ready server it is how long its first token, or an answer of the
output check, may take.
"""


def longest_silence_s(plan: TrialPlan, stage: Stage) -> float:
    """What is borne at a stage before the server counts as hung, s."""
    return plan.stage_timeouts_s.get(stage, FLOOR_S[stage])


def measuring_patience(plan: TrialPlan) -> Patience:
    """What is borne between two tokens while the server is measured."""
    learned = plan.stage_timeouts_s.get(Stage.MEASURE)
    return Patience() if learned is None else Patience(first_token_s=learned, stall_s=learned)
