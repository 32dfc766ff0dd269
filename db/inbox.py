"""Requests from page and command line to a study, through a handle that lives as long as one request.

``stop_after_trial``, ``stop_now`` and ``try_settings`` wait for a runner, which alone acts on them.
``pin_baseline`` and ``note`` take effect in our tables at once, runner or not. Optuna's tables are never
touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from sqlalchemy import Connection, Engine, insert, select, update

from db import schema
from db.clock import utc_now
from db.engine import open_writer, transaction
from db.errors import StudyFileError
from db.outcomes import OUTCOME_WORDS
from trials.outcome import Completed, EnvironmentFailed, Interrupted, SettingsFailed, Stopped
from trials.settings import SettingValue

RequestKind: TypeAlias = Literal["stop_after_trial", "stop_now", "try_settings", "pin_baseline", "note"]
_NO_RESULT = {
    OUTCOME_WORDS[Stopped]: "was stopped early",
    OUTCOME_WORDS[SettingsFailed]: "failed",
    OUTCOME_WORDS[EnvironmentFailed]: "failed with its machine",
    OUTCOME_WORDS[Interrupted]: "was interrupted",
}


@dataclass(frozen=True)
class Request:
    """One request.

    Attributes:
        payload: ``{"settings": {...}}`` of ``try_settings``, ``{"trial": n}`` of ``pin_baseline``,
            ``{"trial": n or None, "text": ...}`` of ``note``.
    """

    id: int
    at: str
    kind: RequestKind
    payload: Mapping[str, Any]


def stop_after_trial(path: Path) -> int:
    """Ask the runner to end the night when the current trial is done.

    Returns:
        The request's id.
    """
    return _leave(path, "stop_after_trial", {})


def stop_now(path: Path) -> int:
    """Ask the runner to end the night at once; the running trial ends as Interrupted.

    Returns:
        The request's id.
    """
    return _leave(path, "stop_now", {})


def try_settings(path: Path, settings: Mapping[str, SettingValue]) -> None:
    """Queue settings for the next trial; the caller has validated them against the space."""
    _leave(path, "try_settings", {"settings": dict(settings)})


def pin_baseline(path: Path, trial: int) -> None:
    """Make a trial the baseline from now on.

    Raises:
        StudyFileError: If the study has no such trial, or it has no result to compare with.
    """
    with _short_transaction(path) as connection:
        _require_trial(connection, path, trial)
        _require_result(connection, path, trial)
        _put(connection, "pin_baseline", {"trial": trial}, answer="done")
        connection.execute(insert(schema.pins).values(at=utc_now(), trial=trial))


def add_note(path: Path, text: str, trial: int | None = None) -> None:
    """Write a note on a trial, or on the study.

    Raises:
        StudyFileError: If the study has no such trial.
    """
    with _short_transaction(path) as connection:
        if trial is not None:
            _require_trial(connection, path, trial)
        _put(connection, "note", {"trial": trial, "text": text}, answer="done")
        connection.execute(insert(schema.notes).values(at=utc_now(), trial=trial, text=text))


def waiting(engine: Engine) -> list[Request]:
    """Requests that a runner has still to act on, oldest first."""
    table = schema.requests.c
    statement = select(table.id, table.at, table.kind, table.payload).where(table.done_at.is_(None))
    with engine.connect() as connection:
        return [Request(*row) for row in connection.execute(statement.order_by(table.id))]


def answer(engine: Engine, request: Request, text: str) -> None:
    """Say in one sentence what came of a request; it no longer waits."""
    table = schema.requests
    with transaction(engine) as connection:
        mine = update(table).where(table.c.id == request.id)
        connection.execute(mine.values(done_at=utc_now(), answer=text))


def withdraw(path: Path, request: int, text: str) -> None:
    """Take back a request that nobody has acted on; ``text`` says why."""
    table = schema.requests.c
    with _short_transaction(path) as connection:
        waits = update(schema.requests).where(table.id == request, table.done_at.is_(None))
        connection.execute(waits.values(done_at=utc_now(), answer=text))


def _leave(path: Path, kind: RequestKind, payload: Mapping[str, Any]) -> int:
    with _short_transaction(path) as connection:
        return _put(connection, kind, payload, answer=None)


@contextmanager
def _short_transaction(path: Path) -> Iterator[Connection]:
    engine = open_writer(path)
    try:
        with transaction(engine) as connection:
            yield connection
    finally:
        engine.dispose()


def _put(connection: Connection, kind: RequestKind, payload: Mapping[str, Any], answer: str | None) -> int:
    now = utc_now()
    row = {"at": now, "kind": kind, "payload": dict(payload), "answer": answer, "done_at": answer and now}
    table = schema.requests
    written = connection.execute(insert(table).values(row).returning(table.c.id))
    return int(written.scalar_one())


def _require_trial(connection: Connection, path: Path, trial: int) -> None:
    number = schema.trials.c.number
    if connection.execute(select(number).where(number == trial)).first() is None:
        raise StudyFileError(f"{path}: the study has no trial {trial}")


def _require_result(connection: Connection, path: Path, trial: int) -> None:
    table = schema.trials.c
    row = connection.execute(select(table.outcome, table.tok_s).where(table.number == trial)).one()
    if row.outcome == OUTCOME_WORDS[Completed] and row.tok_s is not None:
        return
    why = _NO_RESULT.get(row.outcome, "has no result")
    raise StudyFileError(f"{path}: trial {trial} {why}; only a trial that worked can be the baseline")
