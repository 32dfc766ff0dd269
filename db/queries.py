"""What pages and command line read; each function is one short statement on a connection.

Optuna's ``study.trials`` is not used here: at 10,000 trials it costs seconds where this costs tens of ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, func, or_, select

from db import optuna_tables, schema
from db.outcomes import read_outcome
from db.rows import (
    BootRow,
    EventRow,
    GpuSampleRow,
    NoteRow,
    ProgressRow,
    RequestRow,
    RunRow,
    StageRow,
    StudyRow,
    TrialRow,
)
from trials.outcome import AnyOutcome

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = TypeVar("Row", bound="DataclassInstance")

_OURS = [field.name for field in fields(TrialRow) if field.name not in ("number", "state", "value", "result")]


def study(connection: Connection) -> StudyRow | None:
    """The study's own card, None while its first run is still setting it up."""
    rows = _rows(connection, StudyRow, schema.study, schema.study.c.id)
    return rows[0] if rows else None


def runs(connection: Connection) -> list[RunRow]:
    """Every runner that this study had, oldest first."""
    return _rows(connection, RunRow, schema.runs, schema.runs.c.id)


def trials(connection: Connection, *, with_results: bool = False, first: int = 0) -> list[TrialRow]:
    """Trials that began, in order, from number ``first`` on; whole outcomes only when asked for."""
    statement = _trial_statement(with_results).where(optuna_tables.trials.c.number >= first)
    return _trials(connection, statement)


def trial(connection: Connection, number: int) -> TrialRow | None:
    """One trial with its whole outcome, None when there is no such trial."""
    statement = _trial_statement(with_results=True).where(optuna_tables.trials.c.number == number)
    return next(iter(_trials(connection, statement)), None)


def untold_outcomes(connection: Connection) -> dict[int, AnyOutcome]:
    """Trials that ended in our tables while Optuna still counts them as running, by number."""
    statement = _trial_statement(with_results=True).where(
        optuna_tables.trials.c.state == "RUNNING", schema.trials.c.outcome.is_not(None)
    )
    return {
        row.number: read_outcome(row.outcome, row.result)
        for row in _trials(connection, statement)
        if row.outcome is not None and row.result is not None
    }


def suspects(connection: Connection) -> list[int]:
    """Trials whose failure a sick machine may have caused."""
    attributes = optuna_tables.study_attributes.c
    statement = select(attributes.value_json).where(
        attributes.key == "suspects", attributes.study_id == _study_id()
    )
    return list(connection.execute(statement).scalar() or ())


def boots(connection: Connection, number: int) -> list[BootRow]:
    """Server starts of a trial, in order."""
    table = schema.boots
    return _rows(connection, BootRow, table, table.c.boot, table.c.trial == number)


def boot_count(connection: Connection) -> int:
    """Server starts of the whole study."""
    return connection.execute(select(func.count()).select_from(schema.boots)).scalar_one()


def stages(connection: Connection, number: int) -> list[StageRow]:
    """Stages of a trial over all its boots, in order."""
    table = schema.stages
    return _rows(connection, StageRow, table, table.c.id, table.c.trial == number)


def all_stages(connection: Connection) -> dict[int, list[StageRow]]:
    """Stages of every trial, in order."""
    table = schema.stages.c
    statement = select(table.trial, table.boot, table.stage, table.at, table.seconds).order_by(table.id)
    found: dict[int, list[StageRow]] = {}
    for trial, *stage in connection.execute(statement):
        found.setdefault(trial, []).append(StageRow(*stage))
    return found


def measurements(connection: Connection, number: int) -> list[Mapping[str, Any]]:
    """Levels that a trial has measured so far, lowest first (``trials.outcome.Measurement``)."""
    table = schema.measurements.c
    statement = select(table.measurement).where(table.trial == number).order_by(table.level)
    return list(connection.execute(statement).scalars())


def progress(connection: Connection, number: int) -> ProgressRow | None:
    """The latest throughput of a measurement, None before the first."""
    table = schema.progress
    rows = _rows(connection, ProgressRow, table, table.c.at, table.c.trial == number)
    return rows[0] if rows else None


def gpu_samples(connection: Connection, number: int, last: int | None = None) -> list[GpuSampleRow]:
    """Samples of a trial, oldest first; with ``last`` only that many of the newest."""
    table = schema.gpu_samples.c
    statement = select(table.at, table.cards).where(table.trial == number).order_by(table.id.desc())
    newest_first = connection.execute(statement.limit(last)).all()
    return [
        GpuSampleRow(at, [dict(zip(schema.GPU_FIELDS, card, strict=True)) for card in cards])
        for at, cards in reversed(newest_first)
    ]


def events(connection: Connection, *, number: int | None = None, after: int = 0) -> list[EventRow]:
    """Notices and warnings with an id above ``after``, oldest first; with ``number`` of that trial alone."""
    table = schema.events
    wanted = [table.c.id > after]
    if number is not None:
        wanted.append(table.c.trial == number)
    return _rows(connection, EventRow, table, table.c.id, *wanted)


def night_events(connection: Connection, last: int) -> list[EventRow]:
    """The newest notices of the night, oldest first, without the warnings of single trials."""
    table = schema.events
    columns = [table.c[field.name] for field in fields(EventRow)]
    wanted = or_(table.c.trial.is_(None), table.c.level != "warning")
    statement = select(*columns).where(wanted).order_by(table.c.id.desc()).limit(last)
    return [EventRow(*values) for values in connection.execute(statement)][::-1]


def notes(connection: Connection) -> list[NoteRow]:
    """All notes, oldest first."""
    return _rows(connection, NoteRow, schema.notes, schema.notes.c.id)


def pinned_baseline(connection: Connection) -> int | None:
    """The trial that somebody pinned as baseline last, None if nobody did."""
    pins = schema.pins.c
    return connection.execute(select(pins.trial).order_by(pins.id.desc()).limit(1)).scalar()


def verdict(connection: Connection) -> Mapping[str, Any] | None:
    """The newest verdict that the night wrote, None before its finals."""
    verdicts = schema.verdicts.c
    return connection.execute(select(verdicts.verdict).order_by(verdicts.id.desc()).limit(1)).scalar()


def requests(connection: Connection) -> list[RequestRow]:
    """All requests that were ever put in, oldest first."""
    return _rows(connection, RequestRow, schema.requests, schema.requests.c.id)


def _rows(
    connection: Connection,
    row: type[Row],
    table: Table,
    order: ColumnElement[Any],
    *wanted: ColumnElement[bool],
) -> list[Row]:
    columns = [table.c[field.name] for field in fields(row)]
    statement = select(*columns).where(*wanted).order_by(order)
    return [row(*values) for values in connection.execute(statement)]


def _study_id() -> ColumnElement[int]:
    studies = optuna_tables.studies.c
    name = select(schema.study.c.name).scalar_subquery()
    return select(studies.study_id).where(studies.study_name == name).scalar_subquery()


def _trial_statement(with_results: bool) -> Select[Any]:
    theirs, value, ours = optuna_tables.trials, optuna_tables.trial_values, schema.trials
    columns = [ours.c[name] for name in _OURS]
    if with_results:
        columns.append(ours.c.result)
    joined = theirs.outerjoin(value, and_(value.c.trial_id == theirs.c.trial_id, value.c.objective == 0))
    return (
        select(theirs.c.number, theirs.c.state, value.c.value, *columns)
        .select_from(joined.outerjoin(ours, ours.c.number == theirs.c.number))
        .where(theirs.c.study_id == _study_id(), theirs.c.state != "WAITING")
        .order_by(theirs.c.number)
    )


def _trials(connection: Connection, statement: Select[Any]) -> list[TrialRow]:
    return [_trial_row(*values) for values in connection.execute(statement)]


def _trial_row(number: int, state: str, value: float | None, role: str | None, *ours: Any) -> TrialRow:
    """A trial that only Optuna knows, such as one that was asked for a moment ago, has no role yet."""
    told = value if state == "COMPLETE" else None
    return TrialRow(number, state, told) if role is None else TrialRow(number, state, told, role, *ours)
