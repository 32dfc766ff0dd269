"""What queries return: plain data, moments as UTC text, everything else in the unit of its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trials.settings import SettingValue


@dataclass(frozen=True)
class StudyRow:
    """What a study says about itself (``db.journal.StudyCard``)."""

    uuid: str
    name: str
    simulated: bool
    spec_toml: str
    spec: Mapping[str, Any]
    versions: Mapping[str, str | None]
    gpus: Sequence[Mapping[str, Any]]
    created_at: str


@dataclass(frozen=True)
class RunRow:
    """One runner's night; ``ended_at`` is None while it lives, and when it died without a word."""

    id: int
    pid: int
    host: str
    boot_id: str
    process_started: float
    started_at: str
    boots_planned: int | None
    ends_by: str | None
    ended_at: str | None
    how: str | None


@dataclass(frozen=True)
class TrialRow:
    """A trial: Optuna's state and value beside what we know.

    Attributes:
        state: Optuna's: RUNNING, COMPLETE, PRUNED or FAIL.
        outcome: Ours (``db.outcomes``); set while ``state`` is still RUNNING if the tell is to come.
        value: As told, tok/s at the main level; None unless COMPLETE.
        tok_s: As measured at the main level, tok/s, also of a trial that was stopped.
        result: The whole outcome, only where the query says so.
    """

    number: int
    state: str
    value: float | None
    role: str = "search"
    folder: str = ""
    settings: Mapping[str, SettingValue] | None = None
    proposal: Mapping[str, Any] | None = None
    replicate_of: int | None = None
    started_at: str | None = None
    ended_at: str | None = None
    outcome: str | None = None
    tok_s: float | None = None
    tok_s_low: float | None = None
    tok_s_high: float | None = None
    failure_kind: str | None = None
    failure_stage: str | None = None
    failure_summary: str | None = None
    result: Mapping[str, Any] | None = None

    @property
    def is_told(self) -> bool:
        """Optuna knows how it ended, so that nothing about it changes any more."""
        return self.state != "RUNNING"


@dataclass(frozen=True)
class BootRow:
    """One server start of a trial."""

    boot: int
    pid: int
    argv: Sequence[str]
    env: Mapping[str, str]
    started_at: str
    report: Mapping[str, Any] | None


@dataclass(frozen=True)
class StageRow:
    """A stage that began, ``seconds`` after the trial's start; boot 0: before the first server start."""

    boot: int
    stage: str
    at: str
    seconds: float


@dataclass(frozen=True)
class ProgressRow:
    """Throughput so far at a level that is still being measured, tok/s."""

    level: int
    tok_s: float
    at: str


@dataclass(frozen=True)
class GpuSampleRow:
    """All cards at one moment; each has the keys of ``db.schema.GPU_FIELDS``."""

    at: str
    cards: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class EventRow:
    """One sentence of the night."""

    id: int
    at: str
    level: str
    trial: int | None
    text: str


@dataclass(frozen=True)
class NoteRow:
    """A person's note on a trial, or on the study."""

    id: int
    at: str
    trial: int | None
    text: str


@dataclass(frozen=True)
class RequestRow:
    """A request and what came of it; ``done_at`` is None while it waits for a runner."""

    id: int
    at: str
    kind: str
    payload: Mapping[str, Any]
    done_at: str | None
    answer: str | None
