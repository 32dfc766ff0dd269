"""A trial as JSON: what the API answers and the pages draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection

from autotune.dashboard.snapshot import Snapshot
from autotune.moments import seconds_between
from autotune.trial_view import TrialView
from db import queries
from db.rows import StageRow, TrialRow
from trials.settings import SettingValue

RUNNING = "running"


def trial_json(snapshot: Snapshot, row: TrialRow, view: TrialView) -> dict[str, Any]:
    """One line of the trial table."""
    result = row.result or {}
    return {
        "number": row.number,
        "state": row.state,
        "outcome": row.outcome or (RUNNING if not row.is_told else None),
        "role": row.role,
        "replicate_of": row.replicate_of,
        "simulated": snapshot.study.card.simulated,
        "level": snapshot.main_level,
        "tok_s": row.tok_s,
        "tok_s_ci95": _interval(row),
        "settings": dict(row.settings or {}),
        "ran": dict(view.ran),
        "changes": changes(_baseline_settings(snapshot), row.settings or {}),
        "failure": _short_failure(row),
        "suspect": view.suspect,
        "proposal": row.proposal,
        "boots": result.get("boots"),
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "seconds": seconds_between(row.started_at, row.ended_at) if row.started_at else None,
    }


def trials_json(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The trial table, in order."""
    pairs = zip(snapshot.study.rows, snapshot.study.trials, strict=True)
    return [trial_json(snapshot, row, view) for row, view in pairs]


def trial_detail_json(snapshot: Snapshot, connection: Connection, number: int) -> dict[str, Any] | None:
    """All that is known about a trial, None when there is no such trial."""
    place = next((i for i, row in enumerate(snapshot.study.rows) if row.number == number), None)
    if place is None:
        return None
    row, view = snapshot.study.rows[place], snapshot.study.trials[place]
    result = row.result or {}
    return {
        **trial_json(snapshot, row, view),
        "failure": result.get("failure"),
        "measurements": result.get("measurements") or queries.measurements(connection, number),
        "progress": _progress(connection, row),
        "boot": result.get("boot"),
        "stop_proven": result.get("stop_proven"),
        "left_behind": result.get("left_behind") or None,
        "stages": stages_json(queries.stages(connection, number), row),
        "starts": [asdict(boot) for boot in queries.boots(connection, number)],
        "events": [asdict(event) for event in queries.events(connection, number=number)],
        "notes": [asdict(note) for note in queries.notes(connection) if note.trial == number],
        **_neighbours(snapshot, place),
    }


def stages_json(stages: Sequence[StageRow], row: TrialRow) -> list[dict[str, Any]]:
    """Stages with how long each took, s; the last one of a running trial takes until now."""
    ends = [stage.at for stage in stages[1:]]
    last = row.ended_at
    return [
        {**asdict(stage), "took_s": round(max(0.0, seconds_between(stage.at, end)), 3)}
        for stage, end in zip(stages, [*ends, last], strict=False)
    ]


def changes(
    before: Mapping[str, SettingValue] | None, after: Mapping[str, SettingValue]
) -> dict[str, list[SettingValue | None]] | None:
    """Settings that differ, ``{setting: [from, to]}``; None without anything to compare with."""
    if before is None:
        return None
    names = [*after, *(name for name in before if name not in after)]
    return {
        name: [before.get(name), after.get(name)] for name in names if before.get(name) != after.get(name)
    }


def _baseline_settings(snapshot: Snapshot) -> Mapping[str, SettingValue] | None:
    number = snapshot.verdict(snapshot.main_level).baseline
    row = snapshot.row(number) if number is not None else None
    return row.settings if row else None


def _interval(row: TrialRow) -> list[float] | None:
    if row.tok_s_low is None or row.tok_s_high is None:
        return None
    return [row.tok_s_low, row.tok_s_high]


def _short_failure(row: TrialRow) -> dict[str, Any] | None:
    if row.failure_kind is None:
        return None
    return {"kind": row.failure_kind, "stage": row.failure_stage, "summary": row.failure_summary}


def _progress(connection: Connection, row: TrialRow) -> dict[str, Any] | None:
    latest = queries.progress(connection, row.number) if row.outcome is None else None
    return asdict(latest) if latest else None


def _neighbours(snapshot: Snapshot, place: int) -> dict[str, int | None]:
    rows = snapshot.study.rows
    return {
        "previous": rows[place - 1].number if place else None,
        "next": rows[place + 1].number if place + 1 < len(rows) else None,
    }
