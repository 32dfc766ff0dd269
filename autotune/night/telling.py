"""Outcome to Optuna: the one place that maps how a trial ended to its state, value and attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from optuna.storages import BaseStorage
from optuna.trial import TrialState

from trials.outcome import (
    AnyOutcome,
    Completed,
    EnvironmentFailed,
    Failure,
    Interrupted,
    SettingsFailed,
    Stopped,
)


@dataclass(frozen=True)
class Tell:
    """What Optuna is told.

    Attributes:
        value: Decode throughput at the main level, tok/s; only of a COMPLETE trial.
        intermediate: Values seen by a trial that was stopped as hopeless, by step.
    """

    state: TrialState
    value: float | None = None
    intermediate: Mapping[int, float] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)


def translate(outcome: AnyOutcome, main_level: int) -> Tell:
    """Map an outcome; a Completed trial must have been measured at ``main_level``."""
    attributes = _attributes(outcome)
    match outcome:
        case Completed():
            value = next(m.decode_tok_s for m in outcome.measurements if m.level == main_level)
            return Tell(TrialState.COMPLETE, value, attributes=attributes)
        case Stopped():
            seen = {
                step: m.decode_tok_s for step, m in enumerate(outcome.measurements) if m.level == main_level
            }
            return Tell(TrialState.PRUNED, intermediate=seen, attributes=attributes)
        case SettingsFailed(failure=failure):
            return Tell(TrialState.PRUNED, attributes={**attributes, "failure": _plain(failure)})
        case EnvironmentFailed(failure=failure):
            return Tell(TrialState.FAIL, attributes={**attributes, "failure": _plain(failure)})
        case Interrupted():
            return Tell(TrialState.FAIL, attributes=attributes)


def tell(storage: BaseStorage, trial_id: int, told: Tell) -> None:
    """Write attributes and values, then the state: the commit point of a trial.

    Safe to repeat after a death in the middle: everything before the state is overwritten with itself.
    """
    for name, value in told.attributes.items():
        storage.set_trial_user_attr(trial_id, name, value)
    for step, seen in told.intermediate.items():
        storage.set_trial_intermediate_value(trial_id, step, seen)
    values = None if told.value is None else [told.value]
    storage.set_trial_state_values(trial_id, told.state, values)


def _attributes(outcome: AnyOutcome) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "boots": outcome.boots,
        "measurements": [m.model_dump(mode="json") for m in outcome.measurements],
    }
    if outcome.seconds is not None:
        attributes["seconds"] = round(outcome.seconds, 3)
    if outcome.command is not None:
        attributes["command"] = outcome.command.model_dump(mode="json")
    if outcome.boot is not None:
        attributes["boot"] = outcome.boot.model_dump(mode="json")
    if outcome.ran:
        attributes["ran"] = dict(outcome.ran)
    return attributes


def _plain(failure: Failure) -> dict[str, Any]:
    return failure.model_dump(mode="json")
