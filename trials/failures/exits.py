"""What to say when the log names no reason: exit codes, and what we or the kernel did."""

from __future__ import annotations

import re
import signal
from typing import Final

from trials.failures.facts import MachineFacts
from trials.failures.sides import side_of
from trials.failures.situation import Situation
from trials.outcome import AtFault, Failure, FailureKind, Stage

_APPLICATION_XIDS: Final = frozenset({13, 31, 43, 45, 68, 69})
"""Xid errors that a program's own kernel causes (NVIDIA's Xid catalogue); all others are the card's."""

_XID: Final = re.compile(r"\bXid\b\D{0,20}(?P<number>\d+)")
_ASKED_TO_STOP: Final = frozenset({signal.SIGTERM, signal.SIGINT})
_NATIVE_CRASH: Final = frozenset({signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE})


def broken_card(situation: Situation) -> Failure | None:
    """A card that is lost or reports a hardware error explains everything else."""
    faults = hardware_faults(situation.facts)
    if not faults:
        return None
    return _failure(FailureKind.ENVIRONMENT, situation, "A GPU has failed or vanished.", faults)


def without_incident(
    situation: Situation, *, stop_requested: bool, stopped_by_us: bool = False
) -> Failure | None:
    """The verdict on a log in which nothing broke; None when the server was healthy."""
    killed_by_us = situation.facts.killed_by_us
    if killed_by_us == "hang":
        return _failure(FailureKind.HANG, situation, f"The server hung at stage {situation.reached}.")
    ended_by = _signal_of(situation.exit_code)
    told_to_stop = stop_requested or ended_by in _ASKED_TO_STOP
    if situation.facts.watched and told_to_stop and not stopped_by_us:
        summary = f"Somebody else told the server to stop at stage {situation.reached}."
        return _failure(FailureKind.ENVIRONMENT, situation, summary, _exit(situation))
    expected = told_to_stop or killed_by_us is not None
    if situation.log.ready and (expected or situation.exit_code in (None, 0)):
        return None
    return _by_exit_code(situation, ended_by)


def _by_exit_code(situation: Situation, ended_by: signal.Signals | None) -> Failure:
    evidence = _exit(situation)
    if situation.exit_code == 2 and situation.reached is Stage.ARGUMENTS:
        summary = "The command line was refused (exit code 2 is argparse's)."
        return _failure(FailureKind.INVALID_SETTINGS, situation, summary, evidence)
    if situation.exit_code in (126, 127):
        summary = "The server command does not exist or may not be executed."
        return _failure(FailureKind.ENVIRONMENT, situation, summary, evidence)
    if ended_by is signal.SIGKILL:
        return _killed(situation, evidence)
    if ended_by in _NATIVE_CRASH:
        summary = f"The server crashed in native code ({ended_by.name})."
        return _failure(FailureKind.KERNEL_FAULT, situation, summary, evidence)
    return _failure(FailureKind.UNKNOWN, situation, _torn(situation), evidence)


def _exit(situation: Situation) -> tuple[str, ...]:
    return () if situation.exit_code is None else (f"exit code {situation.exit_code}",)


def _killed(situation: Situation, evidence: tuple[str, ...]) -> Failure:
    """A SIGKILL that SGLang did not announce. Whose it was only the kernel's counter can tell."""
    rose, victim = situation.facts.oom_kills_rose, situation.facts.oom_victim
    if rose is None:
        summary = f"The server was killed at stage {situation.reached}; nobody knows by whom."
        return _failure(FailureKind.UNKNOWN, situation, summary, evidence)
    if not rose:
        summary = f"Somebody killed the server at stage {situation.reached}; it was not the kernel."
        return _failure(FailureKind.ENVIRONMENT, situation, summary, evidence)
    summary = "The host ran out of memory and the kernel killed the server."
    if victim is not None:
        return _failure(FailureKind.OOM_HOST, situation, summary, (*evidence, victim), "environment")
    return _failure(FailureKind.OOM_HOST, situation, summary, evidence)


def _torn(situation: Situation) -> str:
    if situation.log.ready:
        return f"The server ended with exit code {situation.exit_code} after it was ready, without a reason."
    return f"The log ends at stage {situation.reached} with neither a ready line nor a reason."


def hardware_faults(facts: MachineFacts) -> tuple[str, ...]:
    """The reported GPU faults that are the card's own, not those of a program that ran on it."""
    return tuple(fault for fault in facts.gpu_faults if _is_hardware(fault))


def _is_hardware(fault: str) -> bool:
    xid = _XID.search(fault)
    return xid is None or int(xid["number"]) not in _APPLICATION_XIDS


def _signal_of(exit_code: int | None) -> signal.Signals | None:
    """The signal that ended the process: -9 from Python, 137 from a shell or a container."""
    if exit_code is None:
        return None
    number = -exit_code if exit_code < 0 else exit_code - 128
    return signal.Signals(number) if number in signal.valid_signals() else None


def _failure(
    kind: FailureKind,
    situation: Situation,
    summary: str,
    evidence: tuple[str, ...] = (),
    at_fault: AtFault | None = None,
) -> Failure:
    return Failure(
        kind=kind,
        stage=situation.reached,
        summary=summary,
        evidence=evidence,
        at_fault=at_fault or side_of(kind),
    )
