"""What the search believes about the objective now: the incumbent, the noise, how good anything may be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autotune.search.codec import Codec, Matrix
from autotune.search.history import History, Observation
from autotune.search.limits import satisfies
from autotune.search.load import usual_advantage
from autotune.search.memory import MemoryWindow
from autotune.search.objective import GaussianProcess, ScalePrior, few_enough
from autotune.search.space import Key

_USUAL_NOISE, _USUAL_SPREAD = 0.02, 0.3
"""Of throughput, relative."""

_GUESSES = 2
_WARP = 2.0
_FARTHEST = 20.0


@dataclass(frozen=True)
class Standing:
    """One boot with its posterior mean."""

    seen: Observation
    mean: float


class Belief:
    """The objective's model, fitted to the good boots; pending ones count at their expected value.

    Args:
        codec: Of the space.
        history: With at least one measured boot.
        window: The memory window, which says what is left for the KV pool.
        limits: What a winner must keep.
    """

    def __init__(
        self, codec: Codec, history: History, window: MemoryWindow, limits: Mapping[str, float]
    ) -> None:
        self._codec, self._window = codec, window
        measured = [seen for seen in history.ended("good", "stopped") if seen.score is not None]
        self._best = max(seen.score for seen in measured if seen.score is not None)
        self._rules = float(history.sign > 0)
        self.noise = replicate_noise(codec, measured, history.logarithmic)
        self._process = self._fit(measured)
        self.standings = self._rank(measured, limits)
        pending = history.ended("pending")
        if pending:
            self._process = self._fit([*measured, *self._imagine(pending)])

    @property
    def incumbent(self) -> Standing:
        """The best posterior mean among boots that keep the limits (among all if none does)."""
        return self.standings[0]

    def predict(self, units: Matrix) -> tuple[Matrix, Matrix]:
        """Mean and standard deviation of the score."""
        mean, deviation = self._process.predict(units)
        return mean + self._usual(units), deviation

    def unwarp(self, score: float) -> float:
        """Back from the model's scale to a score."""
        gap = self._best - score
        reach = _WARP * self.noise.spread
        return self._best - (reach * float(np.expm1(min(gap / reach, _FARTHEST))) if gap > 0 else gap)

    def _usual(self, units: Matrix) -> Matrix:
        """What throughput owes to memory and load as a rule; of figures to minimise no rule is known."""
        return self._rules * self.noise.spread * usual_advantage(self._codec, units)

    def _warp(self, scores: Matrix) -> Matrix:
        """Press together what lies far below the best: how bad a bad boot was matters little."""
        gap = np.maximum(self._best - scores, 0.0)
        reach = _WARP * self.noise.spread
        return np.asarray(np.where(scores < self._best, self._best - reach * np.log1p(gap / reach), scores))

    def _fit(self, measured: Sequence[Observation]) -> GaussianProcess:
        scores = self._warp(np.array([seen.score for seen in measured], dtype=float))
        kept = few_enough(scores)
        units = self._window.inputs(self._codec.values_of([measured[at].settings for at in kept]))
        noise = np.array([measured[at].noise for at in kept])
        surprise = scores[kept] - self._usual(units)
        return GaussianProcess(units, surprise, noise, self._codec.categorical, self.noise)

    def _imagine(self, pending: Sequence[Observation]) -> list[Observation]:
        """Running boots at their posterior mean (Ginsbourger et al. 2010, the believer)."""
        mean, _ = self.predict(
            self._window.inputs(self._codec.values_of([seen.settings for seen in pending]))
        )
        return [
            Observation(seen.number, seen.settings, "good", score=self.unwarp(float(score)))
            for seen, score in zip(pending, mean, strict=True)
        ]

    def _rank(self, measured: Sequence[Observation], limits: Mapping[str, float]) -> list[Standing]:
        """Best first, one per settings, those that keep the limits before those that do not."""
        mean, _ = self.predict(
            self._window.inputs(self._codec.values_of([seen.settings for seen in measured]))
        )
        order = sorted(
            range(len(measured)),
            key=lambda at: (not satisfies(measured[at], limits), -mean[at], measured[at].number),
        )
        found: dict[Key, Standing] = {}
        for at in order:
            if measured[at].ending == "good" and measured[at].number >= 0:
                found.setdefault(
                    self._codec.space.canonical(measured[at].settings), Standing(measured[at], mean[at])
                )
        return list(found.values()) or [Standing(measured[order[0]], float(mean[order[0]]))]


def replicate_noise(codec: Codec, measured: Sequence[Observation], logarithmic: bool) -> ScalePrior:
    """Noise of one boot from settings that were booted more than once, else a usual figure."""
    groups: dict[Key, list[float]] = defaultdict(list)
    scores = [seen.score for seen in measured if seen.score is not None]
    for seen in measured:
        if seen.ending == "good" and seen.score is not None:
            groups[codec.space.canonical(seen.settings)].append(seen.score)
    unit = 1.0 if logarithmic else max(float(np.mean(np.abs(scores))), 1e-9)
    repeated = [np.array(group) for group in groups.values() if len(group) > 1]
    freedom = sum(len(group) - 1 for group in repeated)
    variance = sum(float(np.sum((group - group.mean()) ** 2)) for group in repeated)
    blended = (variance + _GUESSES * (_USUAL_NOISE * unit) ** 2) / (freedom + _GUESSES)
    return ScalePrior(max(float(np.sqrt(blended)), 1e-4 * unit), freedom, _USUAL_SPREAD * unit)
