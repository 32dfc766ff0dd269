"""A trial as JSON: what the API answers and the pages draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection

from autotune.dashboard.snapshot import Snapshot
from autotune.moments import seconds_between
from autotune.study_view import StudyView
from autotune.trial_view import TrialView
from db import queries
from db.rows import StageRow, TrialRow
from trials.settings import SettingValue

RUNNING = "running"


def trial_json(
    study: StudyView,
    row: TrialRow,
    view: TrialView,
    level: int,
    baseline: Mapping[str, SettingValue] | None,
) -> dict[str, Any]:
    """One line of the trial table, with the throughput at a level."""
    result = row.result or {}
    measured = view.at(level)
    return {
        "number": row.number,
        "state": row.state,
        "outcome": row.outcome or (RUNNING if not row.is_told else None),
        "role": row.role,
        "replicate_of": row.replicate_of,
        "simulated": study.card.simulated,
        "level": level,
        "tok_s": measured.decode_tok_s if measured else None,
        "tok_s_ci95": list(measured.decode_tok_s_ci95) if measured and measured.decode_tok_s_ci95 else None,
        "settings": dict(row.settings or {}),
        "ran": dict(view.ran),
        "changes": changes(baseline, row.settings or {}),
        "failure": _short_failure(row),
        "suspect": view.suspect,
        "proposal": row.proposal,
        "boots": result.get("boots"),
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "seconds": seconds_between(row.started_at, row.ended_at) if row.started_at else None,
    }


def trial_detail_json(snapshot: Snapshot, connection: Connection, number: int) -> dict[str, Any] | None:
    """All that is known about a trial, None when there is no such trial."""
    study = snapshot.study
    place = study.places.get(number)
    if place is None:
        return None
    row, view = study.rows[place], study.trials[place]
    result = row.result or {}
    return {
        **trial_json(study, row, view, snapshot.main_level, baseline_settings(study)),
        "failure": result.get("failure"),
        "measurements": result.get("measurements") or queries.measurements(connection, number),
        "progress": _progress(connection, row),
        "boot": result.get("boot"),
        "stop_proven": result.get("stop_proven"),
        "left_behind": result.get("left_behind") or None,
        "stages": stages_json(queries.stages(connection, number), row),
        "starts": [asdict(boot) for boot in queries.boots(connection, number)],
        "events": [asdict(event) for event in queries.events(connection, number=number)],
        "notes": [asdict(note) for note in snapshot.notes if note.trial == number],
        "parent_changes": _parent_changes(study, row),
        "replicates": [one.number for one in study.trials if one.asked == view.asked and one is not view],
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


def baseline_settings(study: StudyView) -> Mapping[str, SettingValue] | None:
    """Settings of the trial that everything is compared with, None without one."""
    number = study.verdict().baseline
    row = study.row(number) if number is not None else None
    return row.settings if row else None


def _parent_changes(study: StudyView, row: TrialRow) -> dict[str, list[SettingValue | None]] | None:
    """How a trial differs from the one that it was derived from, None without one."""
    parent = study.row((row.proposal or {}).get("parent", -1))
    return changes(parent.settings, row.settings or {}) if parent and parent.settings is not None else None


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
