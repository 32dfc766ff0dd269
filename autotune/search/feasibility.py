"""Will these settings boot? Memory window and landmines together, and what a failure would cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from autotune.search.codec import Codec, Matrix
from autotune.search.history import Observation
from autotune.search.landmines import Landmines
from autotune.search.memory import MemoryWindow

GOOD, TOO_SMALL, START_UP, SERVING, LANDMINE = 1.0, 0.6, 0.7, 0.9, 0.5
"""Cost of a boot by where it ends, in good boots: measured shares of a boot's time."""


@dataclass(frozen=True)
class Feasibility:
    """Per settings: probability that they boot, and expected cost in good boots."""

    boots: Matrix
    cost: Matrix


class FeasibilityModel:
    """What boots, as far as known.

    Args:
        codec: Of the space.
        observations: Boots of any ending.
    """

    def __init__(self, codec: Codec, observations: Iterable[Observation]) -> None:
        known = list(observations)
        self.memory = MemoryWindow(codec, known)
        self.landmines = Landmines(codec, known)

    def judge(self, values: Matrix) -> Feasibility:
        """Of settings given as ``Codec.values`` gives them."""
        memory, safe = self.memory.chances(values), self.landmines.chances(values)
        small = 1.0 - memory.pool
        mined = memory.pool * (1.0 - safe)
        start_up = memory.pool * safe * (1.0 - memory.start_up)
        serving = memory.pool * safe * memory.start_up * (1.0 - memory.serving)
        boots = np.clip(memory.all * safe, 0.0, 1.0)
        cost = GOOD * boots + TOO_SMALL * small + LANDMINE * mined + START_UP * start_up + SERVING * serving
        return Feasibility(boots, cost)
