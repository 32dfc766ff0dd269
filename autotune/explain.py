"""``autotune explain``: what each of the winner's settings is worth, taken back one at a time."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Any

from autotune.arms import NORMAL_QUANTILE, BootNoise, Gain, pool
from autotune.export.from_study import NothingToExportError
from autotune.left_out import LeftOut
from autotune.search.boot_chances import PastBoot, boot_chances
from autotune.search.worth import advantages
from autotune.study_view import StudyView
from autotune.trial_view import TrialView
from autotune.verdict import streams
from trials.rules import rules_for
from trials.settings import Settings, SettingValue


@dataclass(frozen=True)
class Worth:
    """One setting in which the winner differs from the baseline.

    Attributes:
        winner: Its value there, None where it is not set.
        baseline: And here.
        without: The winner with the baseline's value.
        believed: How many times faster the winner is than that, by the study's model; None when it knows too
            little.
        chance: Probability that it boots without, by the same model.
        measured: The same ratio from boots, None without any.
        source: Where that is from.
        failure: Why it does not run without, as far as known; empty otherwise.
    """

    setting: str
    winner: SettingValue | None
    baseline: SettingValue | None
    without: Settings
    believed: Gain | None
    chance: float
    measured: Gain | None = None
    source: str = ""
    failure: str = ""

    @property
    def is_settled(self) -> bool:
        return self.measured is not None or bool(self.failure)

    @property
    def doubt(self) -> float:
        """How unsure it is on which side of 1 the ratio lies: 0 for certain, 0.5 for anybody's guess."""
        if self.believed is None:
            return 0.5
        deviation = math.log(self.believed.ci95[1] / self.believed.ratio) / NORMAL_QUANTILE
        faster = NormalDist().cdf(math.log(self.believed.ratio) / deviation)
        return min(faster, 1.0 - faster)

    @property
    def sentence(self) -> str:
        change = f"{self.setting}: {_value(self.baseline)} -> {_value(self.winner)}"
        if self.failure:
            return f"{change}: without it the server does not run ({self.failure})"
        known, source = (self.measured, self.source) if self.measured else (self.believed, "believed")
        if known is None:
            return f"{change}: not known; boot it with --boots"
        low, high = known.ci95
        verdict = "" if low > 1 else ", costs speed" if high < 1 else ", may not matter"
        return f"{change}: {known.ratio:.2f} times (95 % {low:.2f} to {high:.2f}, {source}){verdict}"


@dataclass(frozen=True)
class Explanation:
    """Every setting that was changed, most valuable first."""

    study: str
    level: int
    simulated: bool
    trial: int
    baseline: int
    worths: tuple[Worth, ...]

    @property
    def heading(self) -> str:
        word = " (SIMULATED: no number of it is real)" if self.simulated else ""
        return (
            f"What the settings of trial {self.trial} are worth at {streams(self.level)}{word}: "
            f"the winner against itself with one setting taken back to the baseline's (trial {self.baseline})"
        )

    def to_json(self) -> dict[str, Any]:
        worths = [{**asdict(worth), "sentence": worth.sentence} for worth in self.worths]
        return {**asdict(self), "heading": self.heading, "worths": worths}


def explain(study: StudyView, level: int | None, extra: Sequence[LeftOut]) -> Explanation:
    """Read off a study, and off boots that were made to explain it.

    Raises:
        NothingToExportError: If there is no winner, no baseline, or both are one.
    """
    level = study.bench.main_level if level is None else level
    verdict = study.verdict(level)
    if verdict.best is None or verdict.baseline is None:
        raise NothingToExportError(f"study {study.name}: {verdict.sentence}")
    winner, base = _trial(study, verdict.best), _trial(study, verdict.baseline)
    if winner.key == base.key:
        raise NothingToExportError(f"study {study.name}: your own settings have won; nothing is to explain")
    worths = _believed(study, level, winner, base)
    worths = [_with_measured(worth, study, level, winner.key, extra) for worth in worths]
    worths = [replace(worth, failure=worth.failure or _forbidden(study, worth)) for worth in worths]
    return Explanation(
        study.name,
        level,
        study.card.simulated,
        verdict.best,
        verdict.baseline,
        tuple(sorted(worths, key=_importance, reverse=True)),
    )


def most_doubtful(explanation: Explanation, boots: int) -> list[Worth]:
    """What is worth a boot: nothing that boots have settled already."""
    open_ = [worth for worth in explanation.worths if not worth.is_settled]
    return sorted(open_, key=lambda worth: worth.doubt, reverse=True)[:boots]


def _believed(study: StudyView, level: int, winner: TrialView, base: TrialView) -> list[Worth]:
    space = study.space
    ours, theirs = space.active(_ran(winner)), space.active(_ran(base))
    changes = {
        name: space.active(_taken_back(ours, theirs, name))
        for name in ours
        if name in theirs and ours[name] != theirs[name]
    }
    past = list(_past(study, level))
    wanted = list(changes.values())
    chances = boot_chances(space, past, wanted) if wanted else []
    believed = advantages(space, past, ours, wanted)
    return [
        Worth(
            setting=name,
            winner=ours[name],
            baseline=theirs[name],
            without=without,
            believed=_gain(believed[place].mean, believed[place].deviation) if believed else None,
            chance=chances[place],
        )
        for place, (name, without) in enumerate(changes.items())
    ]


def _taken_back(ours: Settings, theirs: Settings, name: str) -> Settings:
    """The baseline's value, and what only counts beside it, as the baseline has it."""
    return {**theirs, **{key: value for key, value in ours.items() if key != name}, name: theirs[name]}


def _with_measured(
    worth: Worth, study: StudyView, level: int, winner: Hashable, extra: Iterable[LeftOut]
) -> Worth:
    key = study.space.canonical(worth.without)
    arms = {arm.key: arm for arm in pool(study.trials, level)}
    noise = BootNoise.pooled(arms.values())
    if key in arms:
        numbers = ", ".join(str(trial.number) for trial in arms[key].trials)
        return replace(worth, measured=noise.ratio(arms[winner], arms[key]), source=f"trial {numbers}")
    boots = [boot for boot in extra if study.space.canonical(boot.settings) == key]
    reached = [boot.tok_s[level] for boot in boots if level in boot.tok_s]
    if reached:
        middle = arms[winner].mean_log - sum(map(math.log, reached)) / len(reached)
        half = math.hypot(noise.half_width(arms[winner]), noise.half_width_of(len(reached)))
        return replace(worth, measured=_gain(middle, half / NORMAL_QUANTILE), source="booted to explain")
    failed = next((boot.failure for boot in boots if boot.failure), "")
    failed = failed or next((_why(trial) for trial in study.trials if _failed(trial, key)), "")
    return replace(worth, failure=failed)


def _forbidden(study: StudyView, worth: Worth) -> str:
    if worth.measured is not None:
        return ""
    return rules_for(study.server, len(study.card.gpus) or None)(worth.without) or ""


def _failed(trial: TrialView, key: Hashable) -> bool:
    return trial.asked == key and trial.failure is not None and not trial.environment_failed


def _why(trial: TrialView) -> str:
    assert trial.failure is not None
    return f"trial {trial.number}, {trial.failure.kind}: {trial.failure.summary}"


def _past(study: StudyView, level: int) -> Iterable[PastBoot]:
    for trial in study.trials:
        if trial.suspect or trial.environment_failed or not (trial.worked or trial.failure):
            continue
        measured = trial.at(level) if trial.worked else None
        yield PastBoot(
            settings=_ran(trial),
            failure=trial.failure.model_dump(mode="json") if trial.failure else None,
            boot=trial.boot.model_dump() if trial.boot else {},
            tok_s=measured.decode_tok_s if measured and measured.decode_tok_s > 0 else None,
        )


def _ran(trial: TrialView) -> Settings:
    return {**trial.settings, **trial.ran}


def _trial(study: StudyView, number: int) -> TrialView:
    return next(trial for trial in study.trials if trial.number == number)


def _gain(mean: float, deviation: float) -> Gain:
    half = NORMAL_QUANTILE * deviation
    return Gain(math.exp(mean), (math.exp(mean - half), math.exp(mean + half)))


def _importance(worth: Worth) -> float:
    """What the server does not run without comes first."""
    if worth.failure:
        return math.inf
    known = worth.measured or worth.believed
    return known.ratio if known else 0.0


def _value(value: SettingValue | None) -> str:
    return "unset" if value is None else str(value)
