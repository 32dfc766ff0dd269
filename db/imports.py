"""Boots that a study knows from elsewhere: from an earlier study, or from a server's log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from sqlalchemy import Connection, Engine, delete, func, insert, select

from db import schema
from db.clock import utc_now
from db.engine import transaction
from trials.settings import SettingValue


@dataclass(frozen=True)
class ImportedBoot:
    """One boot from elsewhere.

    Attributes:
        source: The file that it was read from.
        same: Model, SGLang version, GPUs and load are those of this study: it counts as data.
        value: tok/s at this study's main level, None when it failed.
        failure: ``trials.outcome.Failure`` as JSON, None when it worked.
        boot: ``trials.outcome.BootReport`` as JSON, None where unknown.
        measurements: ``trials.outcome.Measurement`` as JSON, one per level.
    """

    source: str
    same: bool
    settings: Mapping[str, SettingValue]
    value: float | None
    failure: Mapping[str, Any] | None = None
    boot: Mapping[str, Any] | None = None
    measurements: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class ImportedSource:
    """What one source gave: how many boots, and whether they count as data (``ImportedBoot.same``)."""

    source: str
    same: bool
    worked: int
    failed: int


def replace_imports(engine: Engine, source: str, boots: Sequence[ImportedBoot]) -> None:
    """Keep these boots of a source instead of those that it gave before."""
    table = schema.imports
    now = utc_now()
    with transaction(engine) as connection:
        connection.execute(delete(table).where(table.c.source == source))
        for boot in boots:
            row = {**asdict(boot), "measurements": list(boot.measurements), "at": now}
            connection.execute(insert(table).values(row))


def imported_boots(connection: Connection) -> list[ImportedBoot]:
    """All of them, in the order of their import."""
    table = schema.imports
    columns = [table.c[field.name] for field in fields(ImportedBoot)]
    return [ImportedBoot(*row) for row in connection.execute(select(*columns).order_by(table.c.id))]


def imported_sources(connection: Connection) -> list[ImportedSource]:
    """Boots counted by where they come from, in the order of their import."""
    table = schema.imports.c
    worked = func.count(table.value)
    statement = (
        select(table.source, table.same, worked, func.count() - worked)
        .group_by(table.source, table.same)
        .order_by(func.min(table.id))
    )
    return [ImportedSource(*row) for row in connection.execute(statement)]
