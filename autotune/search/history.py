"""What past trials say, read afresh from the study at every ask: no hidden state."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from autotune.search.parameters import Settings
from autotune.search.space import Key, SearchSpace

STAGES = (
    "arguments",
    "start",
    "init_distributed",
    "load_weights",
    "kv_pool",
    "graph_capture",
    "warm_up",
    "ready",
    "measure",
    "check",
    "stop",
)
_LARGEST_LOG = 700.0

_SPREAD = 1e3
"""Values further apart than this factor are compared as they are, not by their logarithms."""

PASSED_ALL = len(STAGES)
STAGE_UNKNOWN = STAGES.index("stop")

Ending: TypeAlias = Literal["good", "stopped", "crash", "pending"]


@dataclass(frozen=True)
class Failure:
    """Why settings crashed.

    Attributes:
        kind: As in the trial's ``failure`` attribute; "unknown" for a plain crash.
        stage: Its place in ``STAGES``.
        changes: Settings that the log names as culprits.
        raise_fraction_above: Lowest memory fraction that the log says would do, or None.
    """

    kind: str = "unknown"
    stage: int = STAGE_UNKNOWN
    changes: tuple[str, ...] = ()
    raise_fraction_above: float | None = None

    @classmethod
    def read(cls, attribute: Mapping[str, Any]) -> Failure:
        """From the attribute, whoever wrote it; what is missing or strange counts as unknown."""
        remedies = [remedy for remedy in attribute.get("remedies") or () if isinstance(remedy, Mapping)]
        stage = attribute.get("stage")
        bounds = [
            float(remedy["bound"])
            for remedy in remedies
            if remedy.get("setting") == "mem_fraction_static"
            and remedy.get("direction") == "raise"
            and isinstance(remedy.get("bound"), int | float)
        ]
        return cls(
            kind=str(attribute.get("kind") or "unknown"),
            stage=STAGES.index(stage) if stage in STAGES else STAGE_UNKNOWN,
            changes=tuple(
                str(remedy["setting"]) for remedy in remedies if remedy.get("direction") == "change"
            ),
            raise_fraction_above=max(bounds, default=None),
        )


@dataclass(frozen=True)
class Observation:
    """One boot.

    Attributes:
        number: Of the trial; negative for knowledge from elsewhere.
        settings: What ran, conditionals that do not count left out.
        ending: good, stopped (measured enough to know that it cannot win), crash or pending.
        score: Log of the value, or minus it when minimising (see ``History``); None without a value.
        noise: Extra noise beside a trial of this study: 1 for those, more for weaker knowledge.
    """

    number: int
    settings: Settings
    ending: Ending
    score: float | None = None
    value: float | None = None
    failure: Failure | None = None
    boot: Mapping[str, Any] = field(default_factory=dict)
    measurements: Sequence[Mapping[str, Any]] = ()
    noise: float = 1.0
    complete: bool = True

    @property
    def passed(self) -> int:
        """How many stages were passed: ``PASSED_ALL`` for a good boot, none for a pending one."""
        if self.ending in ("good", "stopped"):
            return PASSED_ALL
        return self.failure.stage if self.failure is not None and self.failure.stage != STAGE_UNKNOWN else 0


@dataclass(frozen=True)
class History:
    """Everything known.

    Attributes:
        observations: In the order of their trials, knowledge from elsewhere first.
        taken: Canonical keys that are not to be proposed again, with the trial's number.
        logarithmic: Whether scores are logs (all values above zero, within three orders of magnitude).
        sign: 1 when maximising, -1 when minimising.
        replaced: (setting, asked value) that the server always replaced, with the value it used.
    """

    observations: tuple[Observation, ...]
    taken: Mapping[Key, int]
    logarithmic: bool
    sign: int
    replaced: Mapping[tuple[str, Any], Any] = field(default_factory=dict)

    def ended(self, *endings: Ending) -> list[Observation]:
        return [seen for seen in self.observations if seen.complete and seen.ending in endings]

    def measured_here(self) -> list[Observation]:
        """Good boots of this study that have a value."""
        return [seen for seen in self.ended("good") if seen.score is not None and seen.number >= 0]

    def value_of(self, score: float) -> float:
        """Back from a score to the objective's unit."""
        return math.exp(min(self.sign * score, _LARGEST_LOG)) if self.logarithmic else self.sign * score


def main_measurement(seen: Observation) -> Mapping[str, Any]:
    """The measurement behind the trial's value: the level whose throughput it is."""
    levels = [level for level in seen.measurements if isinstance(level.get("decode_tok_s"), int | float)]
    if not levels or seen.value is None:
        return levels[0] if levels else {}
    value = seen.value
    return min(levels, key=lambda level: abs(float(level["decode_tok_s"]) - value))


def read_history(study: Study, space: SearchSpace, known: Sequence[Observation] = ()) -> History:
    """Read a study.

    FAIL trials and those in the study attribute ``suspects`` are ignored; RUNNING and WAITING ones are
    pending.

    Args:
        study: The study.
        space: Its space.
        known: Knowledge from elsewhere; scores already filled in from ``value`` here.
    """
    suspects = set(study.user_attrs.get("suspects") or ())
    trials = [trial for trial in study.get_trials(deepcopy=False) if trial.number not in suspects]
    seen = [found for trial in trials if (found := _observe(trial, space)) is not None]
    sign = -1 if study.direction == StudyDirection.MINIMIZE else 1
    everything = [*known, *seen]
    values = [one.value for one in everything if one.value is not None]
    logarithmic = all(value > 0 for value in values) and max(values, default=1.0) < _SPREAD * min(
        values, default=1.0
    )
    scored = tuple(_scored(one, sign, logarithmic) for one in everything)
    return History(scored, _taken(trials, space), logarithmic, sign, _replaced(trials))


def asked_settings(trial: FrozenTrial) -> Settings:
    """What a trial was asked to run; a waiting one says so in its fixed parameters."""
    fixed = trial.system_attrs.get("fixed_params") if not trial.params else None
    return dict(fixed if isinstance(fixed, Mapping) else trial.params)


def _observe(trial: FrozenTrial, space: SearchSpace) -> Observation | None:
    ran = trial.user_attrs.get("ran")
    asked = asked_settings(trial)
    settings = space.active({**asked, **(ran if isinstance(ran, Mapping) else {})})
    ending, value, failure = _ending(trial)
    if ending is None or not settings:
        return None
    return Observation(
        number=trial.number,
        settings=settings,
        ending=ending,
        value=value,
        failure=failure,
        boot=_mapping(trial.user_attrs.get("boot")),
        measurements=[_mapping(level) for level in trial.user_attrs.get("measurements") or ()],
        noise=1.0 if ending != "stopped" else 4.0,
        complete=not space.missing(settings),
    )


def _ending(trial: FrozenTrial) -> tuple[Ending | None, float | None, Failure | None]:
    if trial.state == TrialState.COMPLETE:
        return "good", trial.value, None
    if trial.state in (TrialState.RUNNING, TrialState.WAITING):
        return "pending", None, None
    attribute = trial.user_attrs.get("failure")
    if trial.state == TrialState.FAIL or _mapping(attribute).get("at_fault") == "environment":
        return None, None, None
    if isinstance(attribute, Mapping):
        return "crash", None, Failure.read(attribute)
    last = trial.intermediate_values.get(trial.last_step) if trial.last_step is not None else None
    if last is not None and math.isfinite(last):
        return "stopped", last, None
    return "crash", None, Failure()


def _scored(seen: Observation, sign: int, logarithmic: bool) -> Observation:
    if seen.value is None:
        return seen
    score = sign * (math.log(seen.value) if logarithmic else seen.value)
    return Observation(**{**vars(seen), "score": score})


def _taken(trials: Iterable[FrozenTrial], space: SearchSpace) -> dict[Key, int]:
    """Keys asked for and keys that ran; FAIL trials say nothing and leave theirs free."""
    taken: dict[Key, int] = {}
    for trial in trials:
        asked = asked_settings(trial)
        if trial.state == TrialState.FAIL or not asked:
            continue
        taken.setdefault(space.canonical(asked), trial.number)
        ran = trial.user_attrs.get("ran")
        if isinstance(ran, Mapping) and ran:
            taken.setdefault(space.canonical({**asked, **ran}), trial.number)
    return taken


def _replaced(trials: Iterable[FrozenTrial]) -> dict[tuple[str, Any], Any]:
    """Text values that never once ran as asked."""
    replaced: dict[tuple[str, Any], Any] = {}
    kept: set[tuple[str, Any]] = set()
    for trial in trials:
        if trial.state != TrialState.COMPLETE:
            continue
        ran = _mapping(trial.user_attrs.get("ran"))
        for name, value in trial.params.items():
            if not isinstance(value, str):
                continue
            if name in ran and ran[name] != value:
                replaced[name, value] = ran[name]
            else:
                kept.add((name, value))
    return {pair: used for pair, used in replaced.items() if pair not in kept}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
