"""When to doubt the machine rather than the settings, and what the canary's answer means. Decides only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from trials.outcome import AtFault, Failure, FailureKind

SUSPICIOUS = frozenset(
    {FailureKind.UNKNOWN, FailureKind.HANG, FailureKind.KERNEL_FAULT, FailureKind.COMMUNICATION}
)
"""Kinds that a sick machine shows as readily as bad settings do."""

UNEXPECTED_IN_A_ROW = 3
LIKELY_TO_BOOT = 0.5
"""``p_boots`` from which a failure is a surprise."""


@dataclass(frozen=True)
class Suspect:
    """A failed trial whose guilt is open.

    Attributes:
        unexpected_before: Numbers of the trials that failed unexpectedly right before it, oldest first.
    """

    number: int
    failure: Failure
    unexpected: bool
    unexpected_before: Sequence[int] = ()


@dataclass(frozen=True)
class Sentence:
    """What the canary's answer means.

    Attributes:
        failure: What the suspect is told with.
        suspects: Trials that samplers must skip.
        end_night: Why the night must stop, None to go on.
    """

    failure: Failure
    suspects: tuple[int, ...] = ()
    end_night: str | None = None


CanaryAnswer = Literal["passed", "failed", "nothing has worked yet"]


def is_unexpected(p_boots: float | None, has_worked: bool) -> bool:
    return has_worked or (p_boots is not None and p_boots >= LIKELY_TO_BOOT)


def needs_canary(suspect: Suspect) -> bool:
    if suspect.failure.kind in SUSPICIOUS:
        return True
    row = len(suspect.unexpected_before) + 1
    return suspect.unexpected and row >= UNEXPECTED_IN_A_ROW


def sentence(suspect: Suspect, answer: CanaryAnswer) -> Sentence:
    """Judge a suspect by its canary's answer."""
    failure = suspect.failure
    if answer == "failed":
        return Sentence(
            failure=_blame(failure, "environment"),
            suspects=(*suspect.unexpected_before, suspect.number),
            end_night=(
                f"settings that worked before no longer do after trial {suspect.number} failed "
                f"({failure.kind}): the machine is sick. Look at its log, the GPUs (nvidia-smi, dmesg) and "
                "the disk; then start the same study again."
            ),
        )
    if failure.kind is FailureKind.UNKNOWN:
        return Sentence(_blame(failure, "settings" if answer == "passed" else "environment"))
    return Sentence(failure)


def _blame(failure: Failure, at_fault: AtFault) -> Failure:
    return failure.model_copy(update={"at_fault": at_fault})
