"""Knowledge from elsewhere: known-good settings that are tried first, and boots of earlier studies.

Boots of the same model, SGLang version and GPUs count as data. Others are a weaker prior: their good boots
enter the objective's model with much noise, moved to the level of what is measured here, and are dropped when
they order this study's boots no better than chance would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.study import Study

from autotune.search.codec import Codec, Matrix
from autotune.search.explanations import Proposal
from autotune.search.history import Failure, History, Observation
from autotune.search.objective import GaussianProcess, ScalePrior
from autotune.search.parameters import Settings, SpaceError
from autotune.search.space import SearchSpace

EARLIER = "earlier"
"""Study attribute that holds boots from elsewhere."""

_JUDGES, _LEAST_AGREEMENT = 5, 0.2

WEAK_NOISE = 100.0
"""A boot from another machine scatters ten times as much as one of this study."""


def remember(study: Study, settings: Mapping[str, Any], *, same: bool, **shown: Any) -> None:
    """Give a study a boot from elsewhere.

    Args:
        study: The study, before its first trial or between trials.
        settings: What ran.
        same: Whether model, SGLang version and GPUs are those of this study.
        shown: ``value``, ``failure``, ``boot`` and ``measurements``, as far as known.
    """
    known = list(study.user_attrs.get(EARLIER) or ())
    study.set_user_attr(EARLIER, [*known, {"settings": dict(settings), "same": same, **shown}])


def earlier_observations(study: Study, space: SearchSpace) -> list[Observation]:
    """Boots from elsewhere that lie in this space, numbered from -1 down."""
    found = []
    for at, entry in enumerate(study.user_attrs.get(EARLIER) or ()):
        seen = _observe(entry, space, -1 - at)
        if seen is not None:
            found.append(seen)
    return found


def weigh(history: History, codec: Codec) -> History:
    """Move weaker knowledge to this study's level, or drop it once enough boots here contradict it."""
    weak = [seen for seen in history.observations if seen.noise >= WEAK_NOISE and seen.score is not None]
    own = history.measured_here()
    if not weak or not own:
        return history
    expected = _expect(weak, own, codec)
    measured = np.array([seen.score for seen in own], dtype=float)
    if len(own) >= _JUDGES and _agreement(expected, measured) < _LEAST_AGREEMENT:
        kept = tuple(seen for seen in history.observations if seen.noise < WEAK_NOISE)
        return replace(history, observations=kept)
    offset = float(np.median(measured - expected))
    moved = tuple(
        replace(seen, score=seen.score + offset)
        if seen.score is not None and seen.noise >= WEAK_NOISE
        else seen
        for seen in history.observations
    )
    return replace(history, observations=moved)


def _expect(weak: Sequence[Observation], own: Sequence[Observation], codec: Codec) -> Matrix:
    """What the weaker knowledge alone says of this study's boots."""
    units = codec.unit(codec.values_of([seen.settings for seen in weak]))
    scores = np.array([seen.score for seen in weak], dtype=float)
    process = GaussianProcess(units, scores, np.ones(len(weak)), codec.categorical, ScalePrior(0.1))
    return process.predict(codec.unit(codec.values_of([seen.settings for seen in own])))[0]


def _agreement(expected: Matrix, measured: Matrix) -> float:
    """Rank correlation, 0 where either says nothing."""
    if np.ptp(expected) == 0 or np.ptp(measured) == 0:
        return 0.0
    ranks = [np.argsort(np.argsort(column)) for column in (expected, measured)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _observe(entry: Mapping[str, Any], space: SearchSpace, number: int) -> Observation | None:
    try:
        settings = space.active(space.check(entry["settings"]))
    except SpaceError:
        return None
    same, failure, value = bool(entry.get("same")), entry.get("failure"), entry.get("value")
    if value is None and not (same and isinstance(failure, Mapping)):
        return None
    return Observation(
        number=number,
        settings=settings,
        ending="crash" if value is None else "good",
        value=value,
        failure=Failure.read(failure) if value is None and isinstance(failure, Mapping) else None,
        boot=entry.get("boot") or {} if same else {},
        measurements=entry.get("measurements") or (),
        noise=1.0 if same else WEAK_NOISE,
        complete=not space.missing(settings),
    )


def next_known_good(known_good: Sequence[Settings], codec: Codec, history: History) -> Proposal | None:
    """The first known-good settings that have not been asked for."""
    for at, settings in enumerate(known_good, start=1):
        row = codec.settings(codec.row(settings))
        full = {**row, **settings}
        if codec.space.missing(settings) or codec.space.canonical(full) in history.taken:
            continue
        why = f"Known good, number {at} of {len(known_good)}: tried first."
        return Proposal(full, why, None, {}, 0.9, None)
    return None
