"""The one answer to "who won, by how much, how sure"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from autotune.arms import Arm, BootNoise, Estimate, pool
from autotune.drift import Drift, drift
from autotune.finals_belief import FinalsBelief
from autotune.front_runners import broken_by, front_runners
from autotune.search_belief import SearchBelief
from autotune.trial_view import TrialView, before_finals
from trials.counted import counted
from trials.settings import Limits

_BOOTS_TO_CONFIRM = 2
_WORTH_SAYING = 0.003
"""A difference between what was measured and what is believed that a reader would stumble over."""
_HARDLY = 0.05
"""A leader less likely than this to be the best leads a crowd that no single boot can tell apart."""
_ALMOST = 0.99
"""Nothing is said to be surer than this: the posterior knows only of the noise between boots."""


@dataclass(frozen=True)
class Verdict:
    """What a study says at one load level.

    Attributes:
        best: Number of the winner's first trial, None while nothing qualifies.
        replicates: Every trial that ran the winner's settings, the first included.
        throughput: Believed of the winner: its boots' mean less the luck that made it the winner.
        baseline: Number of the trial that everything is compared with, None without one.
        no_baseline: Why there is none; empty when there is.
        pinned: The user made another trial than his own settings the baseline.
        speed_up: Winner over baseline (1.6: sixty percent faster), None without a baseline.
        significant: The interval of the speed-up lies above 1; None without a baseline.
        confirmed: Decided by fresh boots of the finals alone.
        over_limits: Settings that were faster and break a limit, as ``(trial, what it breaks)``.
        probability_best: That nothing it was compared with (the other finalists, else all that was booted) is
            truly faster; from the posterior of ``finals_belief`` or ``search_belief``. None without a winner,
            or while nothing else has worked.
        drift: Of the machine's throughput over the night, None if unknown.
        baseline_confirmed: It was booted in the finals too.
        measured_tok_s: Mean of the winner's boots as measured, tok/s.
    """

    level: int
    simulated: bool
    best: int | None = None
    replicates: tuple[int, ...] = ()
    throughput: Estimate | None = None
    baseline: int | None = None
    baseline_throughput: Estimate | None = None
    no_baseline: str = ""
    pinned: bool = False
    speed_up: float | None = None
    speed_up_ci95: tuple[float, float] | None = None
    significant: bool | None = None
    confirmed: bool = False
    over_limits: tuple[tuple[int, str], ...] = ()
    probability_best: float | None = None
    measured_tok_s: float | None = None
    baseline_confirmed: bool = False
    drift: Drift | None = None

    @property
    def sentence(self) -> str:
        """All of it in words, with unit, level and uncertainty."""
        drifted = self.drift.sentence if self.drift and self.drift.is_sure else ""
        parts = (_winner_words(self), _comparison_words(self), _caution_words(self), drifted)
        return " ".join(filter(None, parts))

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "sentence": self.sentence}


def decide(
    trials: Sequence[TrialView],
    level: int,
    limits: Limits,
    *,
    pinned: int | None = None,
    simulated: bool = False,
) -> Verdict:
    """Who won at ``level``.

    Args:
        trials: The whole study in order.
        pinned: Trial that the user made the baseline, None for the study's own.
    """
    everything = pool(trials, level)
    finals = _deciding_finals(trials, level, limits)
    base, no_baseline = _baseline(trials, pinned, [*finals, *everything])
    is_pinned = any(trial.number == pinned and trial.role != "baseline" for trial in trials)
    drifted = drift(trials, level)
    empty = Verdict(level, simulated, no_baseline=no_baseline, pinned=is_pinned, drift=drifted)
    if not everything:
        return empty
    belief = _belief(finals, everything, base)
    winner, over_limits = _first_inside(finals or everything, limits, belief)
    found = replace(empty, over_limits=over_limits)
    if winner is not None:
        found = replace(
            found,
            best=_first_number(winner, trials),
            replicates=tuple(trial.number for trial in trials if trial.key == winner.key),
            throughput=belief.estimate(winner),
            confirmed=bool(finals),
            probability_best=belief.probability_best(winner) if len(everything) > 1 else None,
            measured_tok_s=math.exp(winner.mean_log),
        )
    if base is None:
        return found
    found = replace(
        found,
        baseline=_first_number(base, trials),
        baseline_throughput=BootNoise.pooled(finals or everything).estimate(base),
        baseline_confirmed=any(arm.key == base.key for arm in finals),
    )
    return found if winner is None else _compared(found, belief, winner, base)


def _compared(verdict: Verdict, belief: FinalsBelief | SearchBelief, winner: Arm, base: Arm) -> Verdict:
    if winner.key == base.key:
        return replace(verdict, speed_up=1.0, significant=False)
    gain = belief.gain(winner, base)
    return replace(verdict, speed_up=gain.ratio, speed_up_ci95=gain.ci95, significant=gain.ci95[0] > 1)


def _belief(
    finals: Sequence[Arm], everything: Sequence[Arm], base: Arm | None
) -> FinalsBelief | SearchBelief:
    if finals:
        return FinalsBelief(finals, base, BootNoise.pooled(finals))
    return SearchBelief(everything, BootNoise.pooled(everything))


def _deciding_finals(trials: Sequence[TrialView], level: int, limits: Limits) -> list[Arm]:
    """The finals' arms where the finals decide this level.

    Each must have boots enough; settings that failed one of theirs have lost. Finalists are chosen at the
    main level: at another one the finals decide only if its own front runner was among them.
    """
    finals = [trial for trial in trials if trial.role == "final"]
    lost = {trial.asked for trial in finals if trial.failure and not trial.environment_failed}
    arms = [arm for arm in pool(finals, level) if arm.trials[0].asked not in lost]
    if not all(len(arm.logs) >= _BOOTS_TO_CONFIRM for arm in arms):
        return []
    leaders = front_runners(pool(before_finals(trials), level), limits)
    present = {trial.asked for trial in finals} | {arm.key for arm in arms}
    return arms if not leaders or {leaders[0].key, leaders[0].trials[0].asked} & present else []


def _first_inside(
    arms: Sequence[Arm], limits: Limits, belief: FinalsBelief | SearchBelief
) -> tuple[Arm | None, tuple[tuple[int, str], ...]]:
    """The fastest arm that keeps the limits, and the faster ones that do not."""
    over: list[tuple[int, str]] = []
    for arm in sorted(arms, key=belief.middle, reverse=True):
        broken = broken_by(arm, limits)
        if not broken:
            return arm, tuple(over)
        over.append((arm.trials[0].number, broken))
    return None, tuple(over)


def _baseline(trials: Sequence[TrialView], pinned: int | None, arms: Sequence[Arm]) -> tuple[Arm | None, str]:
    """The arm of the user's own settings or of the trial that he pinned, or why there is none."""
    if pinned is not None:
        mine = [trial for trial in trials if trial.number == pinned]
    else:
        mine = [trial for trial in trials if trial.role == "baseline"]
    for trial in mine:
        for arm in arms:
            if arm.key == trial.key:
                return arm, ""
    if not mine:
        return None, "your own settings have not been tried yet"
    last, whose = mine[-1], _whose(mine[-1].role != "baseline")
    if last.failure is not None:
        return None, f"{whose} did not run (trial {last.number}: {last.failure.summary})"
    return None, f"{whose} (trial {last.number}) gave no result at this level"


def _whose(pinned: bool) -> str:
    return "the pinned baseline" if pinned else "your own settings"


def _first_number(arm: Arm, trials: Sequence[TrialView]) -> int:
    return next(trial.number for trial in trials if trial.worked and trial.key == arm.key)


def streams(level: int) -> str:
    """A load level in words."""
    return counted(level, "stream")


def tok_s_unit(simulated: bool) -> str:
    """The unit of throughput; an imagined one says so."""
    return "simulated tok/s" if simulated else "tok/s"


def tok_s_words(estimate: Estimate, simulated: bool) -> str:
    """A throughput with its unit and its uncertainty."""
    low, high = estimate.ci95
    return f"{estimate.tok_s:.1f} {tok_s_unit(simulated)} (95 % {low:.1f} to {high:.1f})"


def _winner_words(verdict: Verdict) -> str:
    where = f"at {streams(verdict.level)}"
    if verdict.best is None or verdict.throughput is None:
        return f"Nothing has worked yet {where}{' within the limits' if verdict.over_limits else ''}."
    return f"Trial {verdict.best} is the best: {tok_s_words(verdict.throughput, verdict.simulated)} {where}."


def _comparison_words(verdict: Verdict) -> str:
    if verdict.baseline is None or verdict.baseline_throughput is None:
        return f"There is no baseline: {verdict.no_baseline}."
    if verdict.best is None:
        return ""
    if verdict.speed_up is None or verdict.speed_up_ci95 is None:
        itself = "That is the pinned baseline itself" if verdict.pinned else "These are your own settings"
        rivals = "was faster" if verdict.probability_best is not None else "else has worked so far"
        return f"{itself}: nothing {rivals}."
    low, high = verdict.speed_up_ci95
    mine = f"trial {verdict.baseline} with {tok_s_words(verdict.baseline_throughput, verdict.simulated)}"
    ratio = f"{verdict.speed_up:.2f} times (95 % {low:.2f} to {high:.2f}) {_whose(verdict.pinned)}, {mine}."
    return f"That is {ratio}" if verdict.significant else f"No significant gain: it is {ratio}"


def _caution_words(verdict: Verdict) -> str:
    if verdict.best is None or verdict.throughput is None or verdict.probability_best is None:
        return ""
    chance = f"{_chance_words(verdict.probability_best)} the best"
    if verdict.confirmed:
        missed = "The baseline was" if verdict.pinned else "Your own were"
        alone = "" if verdict.baseline is None or verdict.baseline_confirmed else f" {missed} not in them."
        return f"Confirmed by fresh boots; it is {chance} of those in the finals.{alone}"
    boots, measured = verdict.throughput.boots, verdict.measured_tok_s or 0.0
    so_far = f"Not confirmed by finals: {boots} boot{'s' if boots != 1 else ''} so far, {chance}"
    if abs(measured / verdict.throughput.tok_s - 1) < _WORTH_SAYING:
        return f"{so_far}."
    return f"{so_far}; {measured:.1f} was measured, and what leads so many others was probably lucky."


def _chance_words(probability: float) -> str:
    if probability < _HARDLY:
        return f"in a crowd of equals, with less than {100 * _HARDLY:.0f} % probability"
    if probability >= _ALMOST:
        return f"with more than {100 * _ALMOST:.0f} % probability"
    return f"with {100 * probability:.0f} % probability"
