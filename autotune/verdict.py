"""The one answer to "who won, by how much, how sure"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from autotune.arms import Arm, BootNoise, Estimate, pool
from autotune.limits import broken_limits
from autotune.trial_view import TrialView
from trials.settings import Limits

_BOOTS_TO_CONFIRM = 2


@dataclass(frozen=True)
class Verdict:
    """What a study says at one load level.

    Attributes:
        best: Number of the winner's first trial, None while nothing qualifies.
        replicates: Every trial that ran the winner's settings, the first included.
        baseline: Number of the trial that everything is compared with, None without one.
        no_baseline: Why there is none; empty when there is.
        speed_up: Winner over baseline (1.6: sixty percent faster), None without a baseline.
        significant: The interval of the speed-up lies above 1; None without a baseline.
        confirmed: Decided by fresh boots of the finals alone.
        over_limits: Settings that were faster and break a limit, as ``(trial, what it breaks)``.
    """

    level: int
    simulated: bool
    best: int | None
    replicates: tuple[int, ...]
    throughput: Estimate | None
    baseline: int | None
    baseline_throughput: Estimate | None
    no_baseline: str
    speed_up: float | None
    speed_up_ci95: tuple[float, float] | None
    significant: bool | None
    confirmed: bool
    over_limits: tuple[tuple[int, str], ...]

    @property
    def sentence(self) -> str:
        """All of it in words, with unit, level and uncertainty."""
        return " ".join(filter(None, (_winner_words(self), _comparison_words(self), _caution_words(self))))

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
    finals = _finished_finals(trials, level)
    noise = BootNoise.pooled(everything)
    winner, over_limits = _first_inside(finals or everything, limits)
    base, no_baseline = _baseline(trials, pinned, [*finals, *everything])
    gain = noise.ratio(winner, base) if winner and base and winner.key != base.key else None
    return Verdict(
        level=level,
        simulated=simulated,
        best=_first_number(winner, trials),
        replicates=tuple(trial.number for trial in trials if winner and trial.key == winner.key),
        throughput=noise.estimate(winner) if winner else None,
        baseline=_first_number(base, trials),
        baseline_throughput=noise.estimate(base) if base else None,
        no_baseline=no_baseline,
        speed_up=gain[0] if gain else (1.0 if winner and base else None),
        speed_up_ci95=gain[1] if gain else None,
        significant=gain[1][0] > 1 if gain else (False if winner and base else None),
        confirmed=bool(finals and winner),
        over_limits=over_limits,
    )


def _finished_finals(trials: Sequence[TrialView], level: int) -> list[Arm]:
    """The finals' arms once each has boots enough; settings that failed one of theirs have lost."""
    finals = [trial for trial in trials if trial.role == "final"]
    lost = {trial.asked for trial in finals if trial.failure and not trial.environment_failed}
    arms = [arm for arm in pool(finals, level) if arm.trials[0].asked not in lost]
    return arms if all(len(arm.logs) >= _BOOTS_TO_CONFIRM for arm in arms) else []


def _first_inside(arms: Sequence[Arm], limits: Limits) -> tuple[Arm | None, tuple[tuple[int, str], ...]]:
    """The fastest arm that keeps the limits, and the faster ones that do not."""
    over: list[tuple[int, str]] = []
    for arm in sorted(arms, key=lambda arm: arm.mean_log, reverse=True):
        broken = _broken_by(arm, limits)
        if not broken:
            return arm, tuple(over)
        over.append((arm.trials[0].number, broken))
    return None, tuple(over)


def _broken_by(arm: Arm, limits: Limits) -> str:
    for trial in arm.trials:
        measured = trial.at(arm.level)
        if measured and (broken := broken_limits(limits, trial.settings, measured, trial.boot)):
            return "; ".join(broken)
    return ""


def _baseline(trials: Sequence[TrialView], pinned: int | None, arms: Sequence[Arm]) -> tuple[Arm | None, str]:
    """The arm of the user's own settings, or why there is none."""
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
    last = mine[-1]
    if last.failure is not None:
        return None, f"your own settings did not run (trial {last.number}: {last.failure.summary})"
    return None, f"your own settings (trial {last.number}) have no result at this level"


def _first_number(arm: Arm | None, trials: Sequence[TrialView]) -> int | None:
    if arm is None:
        return None
    return next(trial.number for trial in trials if trial.worked and trial.key == arm.key)


def streams(level: int) -> str:
    return f"{level} stream" if level == 1 else f"{level} streams"


def tok_s_words(estimate: Estimate, simulated: bool) -> str:
    """A throughput with its unit and its uncertainty; an imagined one says so in its unit."""
    low, high = estimate.ci95
    unit = "simulated tok/s" if simulated else "tok/s"
    return f"{estimate.tok_s:.1f} {unit} (95 % {low:.1f} to {high:.1f})"


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
        return "These are your own settings: nothing was faster."
    low, high = verdict.speed_up_ci95
    mine = f"trial {verdict.baseline} with {tok_s_words(verdict.baseline_throughput, verdict.simulated)}"
    ratio = f"{verdict.speed_up:.2f} times (95 % {low:.2f} to {high:.2f}) your own settings, {mine}."
    return f"That is {ratio}" if verdict.significant else f"No significant gain: it is {ratio}"


def _caution_words(verdict: Verdict) -> str:
    if verdict.best is None or verdict.confirmed:
        return ""
    boots = verdict.throughput.boots if verdict.throughput else 0
    return f"Not confirmed by finals: {boots} boot{'s' if boots != 1 else ''} so far."
