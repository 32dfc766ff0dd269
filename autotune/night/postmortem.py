"""Why a trial died with its runner, and what that says about its settings. Decides from plain facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from autotune.night.canary import SUSPICIOUS
from trials.outcome import (
    AnyOutcome,
    AtFault,
    EnvironmentFailed,
    Failure,
    FailureKind,
    Interrupted,
    SettingsFailed,
    Stage,
)

Death: TypeAlias = Literal["reboot", "out_of_memory", "error", "killed"]
"""The machine went down; the kernel killed for memory; autotune itself failed; somebody ended the runner."""

SUSPICIOUS_DEATHS: tuple[Death, ...] = ("reboot", "out_of_memory", "error")
"""Deaths that settings can cause: such settings are repeated once."""
MOST_DEATHS = 8
"""Deaths of any kind after which settings are given up. Whoever kills a runner says nothing about its
settings, so they are run again; the bound is there so that what nobody understands comes to an end."""

_WORDS: dict[Death, str] = {
    "reboot": "the machine went down",
    "out_of_memory": "the kernel killed the runner for want of host memory",
    "error": "autotune itself failed",
    "killed": "the runner was killed",
}


@dataclass(frozen=True)
class Scene:
    """What was found of a trial that never ended.

    Attributes:
        stage: How far it had come.
        log_failure: What its server's log says, None where the server was well or still ran.
        same_settings: Earlier deaths of the same settings.
        other_settings: Earlier deaths of any others.
        seconds: From its start to its last sign of life, s.
    """

    death: Death
    stage: Stage
    log_failure: Failure | None = None
    same_settings: Sequence[Death] = ()
    other_settings: Sequence[Death] = ()
    seconds: float | None = None


def judge_death(scene: Scene) -> AnyOutcome:
    """How the trial is told: Interrupted where it is to be repeated, failed where that has been enough.

    A server that had failed by itself, in a way that a sick machine does not show, is told as what it was.
    """
    found = scene.log_failure
    if found is not None and found.at_fault == "settings" and found.kind not in SUSPICIOUS:
        return SettingsFailed(failure=found, seconds=scene.seconds)
    suspected_before = any(past in SUSPICIOUS_DEATHS for past in scene.same_settings)
    if scene.death in SUSPICIOUS_DEATHS and suspected_before:
        return _given_up(scene)
    if len(scene.same_settings) + 1 >= MOST_DEATHS:
        return _given_up(scene)
    return Interrupted(warnings=(f"{_WORDS[scene.death]} at stage {scene.stage}",), seconds=scene.seconds)


def _given_up(scene: Scene) -> AnyOutcome:
    """Told as failed: the machine's fault where others died so too, else the only thing that was the same."""
    at_fault: AtFault = "environment" if scene.death in scene.other_settings else "settings"
    others = "as it did under other settings" if at_fault == "environment" else "and never under others"
    if scene.death in SUSPICIOUS_DEATHS:
        summary = f"{_WORDS[scene.death]} again at stage {scene.stage} while these settings ran, {others}"
    else:
        summary = f"the runner died {len(scene.same_settings) + 1} times while these settings ran, {others}"
    failure = Failure(
        kind=_kind(scene.death, at_fault),
        stage=scene.stage,
        summary=summary,
        evidence=(summary,),
        at_fault=at_fault,
    )
    if at_fault == "settings":
        return SettingsFailed(failure=failure, seconds=scene.seconds)
    return EnvironmentFailed(failure=failure, seconds=scene.seconds)


def _kind(death: Death, at_fault: AtFault) -> FailureKind:
    if death == "out_of_memory":
        return FailureKind.OOM_HOST
    return FailureKind.UNKNOWN if at_fault == "settings" else FailureKind.ENVIRONMENT
