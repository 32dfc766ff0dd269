"""``autotune`` with something wrong beneath it: a database that may hardly grow, or a clock that is set."""

from __future__ import annotations

import os
import sqlite3
import time
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import optuna.storages._rdb.storage as optuna_storage

import autotune.moments
import autotune.night.clock
import autotune.night.loop
import db.clock
import db.engine

MORE_PAGES = "CHAOS_MORE_PAGES"
"""Pages that the database may still grow by."""
CLOCK_STEP = "CHAOS_CLOCK_STEP_S"
"""By how much the wall clock is set, s; negative: back."""
STEPS_AFTER_S = 3.0


def main() -> None:
    if pages := os.environ.get(MORE_PAGES):
        _limit_pages(int(pages))
    if step := os.environ.get(CLOCK_STEP):
        _step_clock(timedelta(seconds=float(step)))
    from autotune.cli.main import main as autotune

    autotune()


def _limit_pages(more: int) -> None:
    connect = db.engine._connect

    def limited(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        pages = limits.setdefault(path, connection.execute("PRAGMA page_count").fetchone()[0] + more)
        connection.execute(f"PRAGMA max_page_count={pages}")
        return connection

    limits: dict[Path, int] = {}
    db.engine._connect = limited


def _step_clock(step: timedelta) -> None:
    begun = time.monotonic()

    class SetClock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            late = time.monotonic() - begun > STEPS_AFTER_S
            return datetime.now(tz) + (step if late else timedelta())

    for module in (optuna_storage, autotune.moments, autotune.night.clock, autotune.night.loop, db.clock):
        module.datetime = SetClock  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
