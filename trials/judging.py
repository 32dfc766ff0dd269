"""What an early end means: the ending, the log and the machine's facts become a Failure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from trials.endings import Died, EndOfLife, GpuLost, Hung, Overflowed, WrongOutput
from trials.failures import MachineFacts, diagnose_file, side_of
from trials.host import full_disk
from trials.measure_errors import MeasureError
from trials.outcome import Failure, FailureKind, Stage
from trials.settings import Settings


@dataclass(frozen=True)
class Evidence:
    """What is known when a server's life ended early.

    Attributes:
        exit_code: Of a server that ended by itself, None when we stopped it.
        stage: Where the trial was.
    """

    log_path: Path
    exit_code: int | None
    stage: Stage
    settings: Settings
    facts: MachineFacts


_MAY_BE_A_FULL_DISK = frozenset({FailureKind.UNKNOWN, FailureKind.HANG})


def judge(ending: EndOfLife | MeasureError, evidence: Evidence) -> Failure:
    """Name the failure; the log is asked wherever the ending does not speak for itself.

    A full disk also ends the log, and with it the reason why the server failed.
    """
    failure = _name(ending, evidence)
    if failure.kind in _MAY_BE_A_FULL_DISK and (sentence := full_disk(evidence.log_path.parent)):
        return _failure(FailureKind.ENVIRONMENT, failure.stage, sentence)
    return failure


def _name(ending: EndOfLife | MeasureError, evidence: Evidence) -> Failure:
    match ending:
        case WrongOutput(sentences=sentences):
            return _failure(FailureKind.WRONG_OUTPUT, Stage.CHECK, sentences[0], sentences)
        case GpuLost(faults=faults):
            return _failure(FailureKind.ENVIRONMENT, evidence.stage, faults[0], faults)
        case Hung(stage=stage, sentence=sentence):
            facts = replace(evidence.facts, killed_by_us="hang")
            found = _from_log(replace(evidence, stage=stage, facts=facts))
            return found if found and found.evidence else _failure(FailureKind.HANG, stage, sentence)
        case Overflowed(kind=FailureKind.UNKNOWN, sentence=sentence):
            found = _from_log(evidence)
            known = found is not None and found.kind is not FailureKind.UNKNOWN
            return found if found and known else _failure(FailureKind.UNKNOWN, evidence.stage, sentence)
        case Overflowed(kind=kind, sentence=sentence):
            return _failure(kind, evidence.stage, sentence)
        case MeasureError(kind=kind, summary=summary, evidence=said):
            found = _from_log(evidence)
            if found is not None and (kind is None or found.kind is not FailureKind.UNKNOWN):
                return found
            return _failure(kind or FailureKind.UNKNOWN, evidence.stage, summary, said)
        case Died():
            return _from_log(evidence) or _silent_death(evidence)
        case _:
            raise TypeError(f"{ending!r} is no failure")


def _from_log(evidence: Evidence) -> Failure | None:
    return diagnose_file(
        evidence.log_path,
        exit_code=evidence.exit_code,
        stage=evidence.stage,
        settings=evidence.settings,
        facts=evidence.facts,
    ).failure


def _silent_death(evidence: Evidence) -> Failure:
    summary = f"the server ended with code {evidence.exit_code} at stage {evidence.stage} without a word why"
    return _failure(FailureKind.UNKNOWN, evidence.stage, summary)


def _failure(kind: FailureKind, stage: Stage, summary: str, evidence: tuple[str, ...] = ()) -> Failure:
    return Failure(
        kind=kind, stage=stage, summary=summary, evidence=evidence or (summary,), at_fault=side_of(kind)
    )
