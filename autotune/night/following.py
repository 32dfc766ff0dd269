"""A night that another process runs, told to a reporter by reading the study's file alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Connection

from autotune.moments import seconds_between
from autotune.night.asking import Asked, Role
from autotune.night.reporter import Reporter
from autotune.standing import Standing, read_standing
from autotune.study_view import StudyReading, StudyView
from db import queries
from db.engine import open_reader
from db.outcomes import read_outcome
from db.rows import TrialRow
from trials.outcome import Measurement, Stage

LOOKS_EVERY_S = 1.0


def follow(path: Path, reporter: Reporter, every_s: float = LOOKS_EVERY_S) -> Standing:
    """Tell ``reporter`` what happens until nobody runs the study any more.

    Raises:
        StudyFileError: If the file is gone or no study of ours.
    """
    follower = Follower(path, reporter)
    while (stands := follower.look()).goes_on:
        time.sleep(every_s)
    return stands


class Follower:
    """Remembers what it has told; the past of the first look is not told."""

    def __init__(self, path: Path, reporter: Reporter) -> None:
        self._path = path
        self._reporter = reporter
        self._reading = StudyReading()
        self._event: int | None = None
        self._ended: set[int] | None = None
        self._best: int | None = None
        self._live: _LiveTrial | None = None

    def look(self) -> Standing:
        """Tell what is new since the last look."""
        with open_reader(self._path) as reader, reader.connect() as connection:
            study = self._reading.read(connection)
            stands = read_standing(connection, study)
            self._tell_events(connection)
            self._tell_trials(connection, study.rows, stands)
            self._tell_best(study)
        return stands

    def _tell_events(self, connection: Connection) -> None:
        events = queries.events(connection, after=self._event or 0)
        if self._event is not None:
            for event in events:
                if event.trial is None:
                    self._reporter.notice(event.text)
        self._event = events[-1].id if events else self._event or 0

    def _tell_trials(self, connection: Connection, rows: Sequence[TrialRow], stands: Standing) -> None:
        over = [row for row in rows if row.outcome is not None]
        if self._ended is None:
            self._ended = {row.number for row in over}
        for row in over:
            if row.number not in self._ended:
                self._tell_start(row, rows, stands)
                self._tell_end(row)
        running = [
            row for row in rows if row.outcome is None and not row.is_told and row.settings is not None
        ]
        if running and stands.goes_on:
            self._tell_start(running[-1], rows, stands)
            if self._live is not None:
                self._live.tell(connection)

    def _tell_start(self, row: TrialRow, rows: Sequence[TrialRow], stands: Standing) -> None:
        if self._live is not None and self._live.row.number == row.number:
            return
        earlier = [past for past in rows if past.number < row.number and past.outcome != "interrupted"]
        planned = stands.run.boots_planned if stands.run else None
        self._reporter.trial_started(_asked(row), len(earlier) + 1, planned, stands.seconds_left)
        self._live = _LiveTrial(row, self._reporter)

    def _tell_end(self, row: TrialRow) -> None:
        if self._ended is not None:
            self._ended.add(row.number)
        if row.outcome is not None and row.result is not None:
            self._reporter.trial_ended(_asked(row), read_outcome(row.outcome, row.result))

    def _tell_best(self, study: StudyView) -> None:
        verdict = study.verdict()
        if verdict.best is not None and verdict.best != self._best:
            self._best = verdict.best
            self._reporter.best(verdict)


class _LiveTrial:
    """What has been told of the trial that runs."""

    def __init__(self, row: TrialRow, reporter: Reporter) -> None:
        self.row = row
        self._reporter = reporter
        self._stage: Stage | None = None
        self._measured = 0
        self._progress_at = ""

    def tell(self, connection: Connection) -> None:
        stages = queries.stages(connection, self.row.number)
        if not stages:
            return
        stage = Stage(stages[-1].stage)
        if stage is not self._stage:
            self._stage = stage
            began = self.row.started_at
            self._reporter.stage(stage, seconds_between(began) if began else stages[-1].seconds)
        if stage is Stage.MEASURE:
            self._tell_measuring(connection)

    def _tell_measuring(self, connection: Connection) -> None:
        measured = queries.measurements(connection, self.row.number)
        for measurement in measured[self._measured :]:
            self._reporter.measured(Measurement.model_validate(measurement))
        self._measured = len(measured)
        progress = queries.progress(connection, self.row.number)
        if progress is not None and progress.at != self._progress_at:
            self._progress_at = progress.at
            self._reporter.progress(progress.level, progress.tok_s)


def _asked(row: TrialRow) -> Asked:
    role: Role = row.role  # type: ignore[assignment]  # the table holds what ``StudyBook`` wrote
    return Asked(
        number=row.number,
        trial_id=row.number,
        role=role,
        settings=dict(row.settings or {}),
        key=row.number,
        proposal=dict(row.proposal or {}),
        replicate_of=row.replicate_of,
    )
