"""How much faster one command is than others like it, as the objective's model believes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autotune.search.belief import replicate_noise
from autotune.search.boot_chances import PastBoot, observations
from autotune.search.codec import Codec
from autotune.search.memory import MemoryWindow
from autotune.search.objective import GaussianProcess, few_enough
from autotune.search.parameters import Settings
from autotune.search.space import SearchSpace

_FEWEST = 4
"""Measured boots below which the model knows nothing but its prior."""


@dataclass(frozen=True)
class Advantage:
    """Natural logarithm of a ratio of throughputs: what is believed and how unsure it is."""

    mean: float
    deviation: float


def advantages(
    space: SearchSpace, past: Sequence[PastBoot], one: Settings, others: Sequence[Settings]
) -> list[Advantage] | None:
    """Of ``one`` over each of the others.

    Returns:
        None where too few boots were measured to believe anything.
    """
    codec, seen = Codec(space), observations(space, past)
    measured = [boot for boot in seen if boot.score is not None and boot.complete]
    if len(measured) < _FEWEST or not others:
        return None
    window = MemoryWindow(codec, seen)
    scores = np.array([boot.score for boot in measured], dtype=float)
    kept = few_enough(scores)
    units = window.inputs(codec.values_of([measured[at].settings for at in kept]))
    noise = replicate_noise(codec, measured, logarithmic=True)
    process = GaussianProcess(units, scores[kept], np.ones(len(kept)), codec.categorical, noise)
    wanted = window.inputs(codec.values_of([space.active(settings) for settings in (one, *others)]))
    means, deviations = process.differences(wanted[:1], wanted[1:])
    return [Advantage(float(mean), float(wide)) for mean, wide in zip(means, deviations, strict=True)]
