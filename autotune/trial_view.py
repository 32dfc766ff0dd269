"""One trial as advisers, verdict and pages see it: plain data, whichever table it came from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from trials.outcome import BootReport, Failure, Measurement
from trials.settings import Settings


@dataclass(frozen=True)
class TrialView:
    """A trial of the study, running or told.

    Attributes:
        role: "search", "baseline", "canary" or "final".
        value: Decode throughput at the main level, tok/s; only of a COMPLETE trial.
        key: Canonical key of what ran; equal keys are replicates of each other.
        asked: Canonical key of what was asked for; differs from ``key`` where the server replaced something.
        p_boots: The sampler's belief before the boot, None without one.
        expected: What the sampler expected of it, [low, high] in tok/s, None without a belief.
        seconds: How long the trial took, s; None while it runs.
        death: How its runner died, if it died with it (``autotune.night.postmortem.Death``).
        started: When it began, None if unknown.
        suspect: True where a sick machine is to blame for what the state says.
    """

    number: int
    state: TrialState
    settings: Settings
    key: Hashable
    asked: Hashable
    role: str = "search"
    value: float | None = None
    replicate_of: int | None = None
    ran: Mapping[str, Any] = field(default_factory=dict)
    measurements: tuple[Measurement, ...] = ()
    boot: BootReport | None = None
    failure: Failure | None = None
    p_boots: float | None = None
    expected: tuple[float, float] | None = None
    seconds: float | None = None
    death: str | None = None
    suspect: bool = False
    started: datetime | None = None

    @property
    def worked(self) -> bool:
        return self.state is TrialState.COMPLETE

    @property
    def interrupted(self) -> bool:
        return self.state is TrialState.FAIL and self.failure is None

    @property
    def environment_failed(self) -> bool:
        return self.state is TrialState.FAIL and self.failure is not None

    def at(self, level: int) -> Measurement | None:
        for measured in self.measurements:
            if measured.level == level:
                return measured
        return None


def before_finals(trials: Sequence[TrialView]) -> list[TrialView]:
    """The trials before the first final, all without one."""
    first = min((trial.number for trial in trials if trial.role == "final"), default=None)
    return [trial for trial in trials if first is None or trial.number < first]


Canonical = Callable[[Mapping[str, Any]], Hashable]


def view(trial: FrozenTrial, canonical: Canonical, suspects: Iterable[int] = ()) -> TrialView:
    """Read one of Optuna's trials, with the attributes that the architecture gives it."""
    attributes = trial.user_attrs
    proposal = attributes.get("proposal") or {}
    settings: Settings = dict(trial.params)
    ran = attributes.get("ran") or {}
    return TrialView(
        number=trial.number,
        state=trial.state,
        settings=settings,
        key=canonical({**settings, **ran}),
        asked=canonical(settings),
        role=attributes.get("role", "search"),
        value=trial.value if trial.state is TrialState.COMPLETE else None,
        replicate_of=attributes.get("replicate_of"),
        ran=ran,
        measurements=tuple(Measurement.model_validate(m) for m in attributes.get("measurements") or ()),
        boot=BootReport.model_validate(attributes["boot"]) if attributes.get("boot") else None,
        failure=Failure.model_validate(attributes["failure"]) if attributes.get("failure") else None,
        p_boots=proposal.get("p_boots"),
        expected=tuple(proposal["expected"]) if proposal.get("expected") else None,
        seconds=_seconds(trial),
        death=attributes.get("death"),
        suspect=trial.number in set(suspects),
        started=trial.datetime_start and trial.datetime_start.astimezone(UTC),
    )


def _seconds(trial: FrozenTrial) -> float | None:
    """As measured; else between Optuna's two moments, which a clock that is set in between makes wrong."""
    measured: float | None = trial.user_attrs.get("seconds")
    if measured is not None or trial.duration is None:
        return measured
    return max(0.0, trial.duration.total_seconds())
