"""What past boots say about settings that were not tried: the sampler's own belief, for a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autotune.search.codec import Codec
from autotune.search.feasibility import FeasibilityModel
from autotune.search.history import Failure, Observation
from autotune.search.parameters import Settings
from autotune.search.space import SearchSpace


@dataclass(frozen=True)
class PastBoot:
    """A boot that ended by its settings' doing.

    Attributes:
        failure: The trial's ``failure`` attribute, None for one that worked.
        boot: The trial's ``boot`` attribute, as far as known.
        tok_s: What it reached at the level in question, tok/s; None without a measurement.
    """

    settings: Mapping[str, Any]
    failure: Mapping[str, Any] | None
    boot: Mapping[str, Any] = field(default_factory=dict)
    tok_s: float | None = None


def boot_chances(space: SearchSpace, past: Sequence[PastBoot], wanted: Sequence[Settings]) -> list[float]:
    """Probability that each of the wanted settings boots, as ``CrashAwareSampler`` believes it."""
    codec = Codec(space)
    model = FeasibilityModel(codec, observations(space, past))
    judged = model.judge(codec.values_of([space.active(settings) for settings in wanted]))
    return [float(chance) for chance in judged.boots]


def observations(space: SearchSpace, past: Sequence[PastBoot]) -> list[Observation]:
    """Past boots as the models take them."""
    return [_observation(place, one, space) for place, one in enumerate(past)]


def _observation(place: int, one: PastBoot, space: SearchSpace) -> Observation:
    settings = space.active(one.settings)
    return Observation(
        number=place,
        settings=settings,
        ending="good" if one.failure is None else "crash",
        score=None if one.tok_s is None else math.log(one.tok_s),
        failure=None if one.failure is None else Failure.read(one.failure),
        boot=one.boot,
        complete=not space.missing(settings),
    )
