"""How long a silent stage is waited for, learned from the boots that worked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from trials.outcome import Stage

LEARNED_FROM = 2
"""Good boots that must have shown a stage before its time-out is tightened."""
FACTOR = 5.0
FLOOR_S = 60.0
BOX_FLOOR_S = 10.0
"""A stage is never given less than this, however quick it was so far, s; the box imagines its hardware."""

_BOOTING = (
    Stage.START,
    Stage.INIT_DISTRIBUTED,
    Stage.LOAD_WEIGHTS,
    Stage.KV_POOL,
    Stage.GRAPH_CAPTURE,
    Stage.WARM_UP,
)
"""Only of these does a stage's length bound its silence. A ready server is waited for per token or answer,
which no stage shows, and for at most 3 minutes as it is (``trials.silence``, ``trials.load.Patience``)."""


def stage_timeouts(boots: Iterable[Sequence[tuple[Stage, float]]], *, simulated: bool) -> dict[str, float]:
    """Longest silence per stage, s; stages seen too seldom are left out.

    Args:
        boots: Of every boot that worked, its stages with their begin, s.
    """
    seen: dict[Stage, list[float]] = {}
    for stages in boots:
        for (stage, begun), (_, ended) in pairwise(stages):
            seen.setdefault(stage, []).append(ended - begun)
    floor = BOX_FLOOR_S if simulated else FLOOR_S
    learned: Mapping[str, float] = {
        str(stage): max(floor, FACTOR * max(seen[stage]))
        for stage in _BOOTING
        if len(seen.get(stage, ())) >= LEARNED_FROM
    }
    return dict(learned)
