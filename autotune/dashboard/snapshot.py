"""Everything that the study page shows, read in one go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from autotune.study_view import StudyReading, StudyView
from autotune.verdict import Verdict
from db import queries
from db.imports import ImportedSource, imported_sources
from db.rows import (
    EventRow,
    GpuSampleRow,
    NoteRow,
    ProgressRow,
    RequestRow,
    RunRow,
    StageRow,
    TrialRow,
)

_NEWEST_EVENTS = 200
_NEWEST_REQUESTS = 20


@dataclass(frozen=True)
class LiveTrial:
    """The trial that runs now, as far as it has come."""

    row: TrialRow
    stages: Sequence[StageRow]
    progress: ProgressRow | None
    measurements: Sequence[Mapping[str, Any]]
    gpus: GpuSampleRow | None


@dataclass(frozen=True)
class Snapshot:
    """One moment of a study.

    Attributes:
        generation: Grows with every change that this process noticed.
        boots: Server starts so far.
        caveat: What may be missing from the file, None when nothing is.
    """

    generation: int
    study: StudyView
    runs: Sequence[RunRow]
    boots: int
    live: LiveTrial | None
    events: Sequence[EventRow]
    requests: Sequence[RequestRow]
    notes: Sequence[NoteRow]
    imports: Sequence[ImportedSource]
    caveat: str | None

    @property
    def last_run(self) -> RunRow | None:
        return self.runs[-1] if self.runs else None

    @property
    def main_level(self) -> int:
        return self.study.bench.main_level

    def verdict(self, level: int) -> Verdict:
        """Who won at a level."""
        return self.study.verdict(level)

    def row(self, number: int) -> TrialRow | None:
        return self.study.row(number)


def take_snapshot(
    connection: Connection, reading: StudyReading, generation: int, caveat: str | None
) -> Snapshot:
    """Read what has changed about a study.

    Raises:
        StudyFileError: If its first run is still setting it up.
    """
    study = reading.read(connection)
    running = next((row for row in reversed(study.rows) if not row.is_told and row.outcome is None), None)
    return Snapshot(
        generation=generation,
        study=study,
        runs=queries.runs(connection),
        boots=queries.boot_count(connection),
        live=_live(connection, running) if running else None,
        events=queries.night_events(connection, last=_NEWEST_EVENTS),
        requests=queries.requests(connection)[-_NEWEST_REQUESTS:],
        notes=queries.notes(connection),
        imports=imported_sources(connection),
        caveat=caveat,
    )


def _live(connection: Connection, row: TrialRow) -> LiveTrial:
    return LiveTrial(
        row=row,
        stages=queries.stages(connection, row.number),
        progress=queries.progress(connection, row.number),
        measurements=queries.measurements(connection, row.number),
        gpus=next(iter(queries.gpu_samples(connection, row.number, last=1)), None),
    )
