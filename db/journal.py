"""What the night writes.

Order of a trial's end: first our tables (``finish_trial``), then Optuna's ``tell``, which is the trial's
commit point. Between the two our row already holds the whole outcome, so that a runner that died there can
tell it after all (``db.queries.untold_outcomes``); a trial without an outcome here never ended.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias

from sqlalchemy import Engine, insert, select, update

from db import schema
from db.clock import utc_now
from db.engine import checkpoint, open_writer, transaction
from db.errors import StudyWriteError
from db.outcomes import trial_columns
from db.recorder import TrialRecorder
from trials.outcome import AnyOutcome
from trials.settings import SettingValue

Role: TypeAlias = Literal["search", "baseline", "canary", "final"]
EventLevel: TypeAlias = Literal["info", "warning", "error"]


@dataclass(frozen=True)
class StudyCard:
    """What a study says about itself; secrets in the spec are replaced by the caller.

    Attributes:
        spec: The validated ``study.toml`` with its defaults, as JSON.
        versions: Of "autotune", "sglang", "driver", "model" and "draft model" (``trials.fingerprint``); None
            where unknown.
        gpus: One object per card (``trials.gpus.GpuCard``), each with how all are connected as "links".
    """

    uuid: str
    name: str
    simulated: bool
    spec_toml: str
    spec: Mapping[str, Any]
    versions: Mapping[str, str | None]
    gpus: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class NewTrial:
    """A trial that begins.

    Attributes:
        number: Of Optuna's trial.
        folder: Relative to the study's folder.
        proposal: ``why``, ``parent``, ``changes``, ``p_boots``, ``expected``.
    """

    number: int
    role: Role
    settings: Mapping[str, SettingValue]
    folder: str
    replicate_of: int | None = None
    proposal: Mapping[str, Any] | None = None


class Journal:
    """The night's pen: one per runner, its transactions a few milliseconds each.

    Every method raises StudyWriteError when the file cannot be written.

    Attributes:
        engine: For ``db.inbox``; closed with the journal.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._run: int | None = None

    @classmethod
    def open(cls, path: Path, *, create: bool = False) -> Journal:
        """Open a study for writing.

        Raises:
            StudyFileError: If the file cannot be a study of this autotune.
        """
        return cls(open_writer(path, create=create))

    def describe_study(self, card: StudyCard) -> None:
        """Write what the study is; a second time it keeps its uuid and its birthday."""
        columns = {
            name: getattr(card, name) for name in ("simulated", "spec_toml", "spec", "versions", "gpus")
        }
        with transaction(self.engine) as connection:
            known = connection.execute(update(schema.study).values(columns)).rowcount
            if not known:
                identity = {"id": 1, "uuid": card.uuid, "name": card.name, "created_at": utc_now()}
                connection.execute(insert(schema.study).values(identity | columns))

    def server_version(self, version: str) -> None:
        """What the running server calls itself; it knows better than its ``--help``."""
        versions = schema.study.c.versions
        with transaction(self.engine) as connection:
            known = connection.execute(select(versions)).scalar_one()
            if known.get("sglang") != version:
                connection.execute(update(schema.study).values(versions={**known, "sglang": version}))

    def begin_run(self, *, pid: int, boot_id: str, process_started: float) -> int:
        """A runner takes the study; earlier runs that never ended are closed.

        Args:
            process_started: When the process began, s since the machine's boot.
        """
        now = utc_now()
        runs = schema.runs
        row = {
            "pid": pid,
            "host": socket.gethostname(),
            "boot_id": boot_id,
            "process_started": process_started,
            "started_at": now,
        }
        with transaction(self.engine) as connection:
            dead = update(runs).where(runs.c.ended_at.is_(None))
            connection.execute(dead.values(ended_at=now, how="died without a word"))
            self._run = connection.execute(insert(runs).values(row).returning(runs.c.id)).scalar_one()
        return self._run

    def plan_run(self, *, boots_planned: int | None, ends_by: str | None) -> None:
        """What the night now expects; ``ends_by`` is UTC text as ``db.clock`` writes it."""
        self._update_run(boots_planned=boots_planned, ends_by=ends_by)

    def end_run(self, how: str) -> None:
        """Close the run with one sentence on how it ended."""
        self._update_run(ended_at=utc_now(), how=how)

    def begin_trial(self, trial: NewTrial) -> None:
        columns = {
            "number": trial.number,
            "run": self._run,
            "role": trial.role,
            "folder": trial.folder,
            "settings": dict(trial.settings),
            "proposal": None if trial.proposal is None else dict(trial.proposal),
            "replicate_of": trial.replicate_of,
            "started_at": utc_now(),
        }
        with transaction(self.engine) as connection:
            connection.execute(insert(schema.trials).values(columns))

    def recorder(self, number: int) -> TrialRecorder:
        """To whom the trial reports; close it before ``finish_trial``."""
        return TrialRecorder(self.engine, number)

    def finish_trial(
        self, number: int, outcome: AnyOutcome, main_level: int, ended_at: str | None = None
    ) -> None:
        """Write how a trial ended, before Optuna is told; a second time replaces the first.

        Args:
            ended_at: When, as ``db.clock`` writes it; None: now.
        """
        columns = trial_columns(outcome, main_level)
        with transaction(self.engine) as connection:
            mine = update(schema.trials).where(schema.trials.c.number == number)
            connection.execute(mine.values(ended_at=ended_at or utc_now(), **columns))

    def notice(self, text: str, level: EventLevel = "info", trial: int | None = None) -> None:
        """An event of the night, one sentence."""
        with transaction(self.engine) as connection:
            row = {"at": utc_now(), "level": level, "trial": trial, "text": text}
            connection.execute(insert(schema.events).values(row))

    def verdict(self, verdict: Mapping[str, Any]) -> None:
        """Keep a verdict; the newest counts."""
        with transaction(self.engine) as connection:
            connection.execute(insert(schema.verdicts).values(at=utc_now(), verdict=dict(verdict)))

    def checkpoint(self) -> None:
        """Make ``study.db`` whole on its own; after every trial."""
        checkpoint(self.engine)

    def close(self) -> None:
        """Let the file go; what no checkpoint could move is still in its write-ahead log."""
        with suppress(StudyWriteError):
            self.checkpoint()
        self.engine.dispose()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _update_run(self, **columns: Any) -> None:
        with transaction(self.engine) as connection:
            connection.execute(update(schema.runs).where(schema.runs.c.id == self._run).values(columns))
