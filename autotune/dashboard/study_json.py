"""A study as JSON: what the API answers and the pages draw."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from autotune.dashboard.liveness import RunState, run_state
from autotune.dashboard.moments import seconds_between
from autotune.dashboard.snapshot import LiveTrial, Snapshot
from autotune.dashboard.trial_json import changes, stages_json
from db.outcomes import OUTCOME_WORDS


def study_summary_json(name: str, snapshot: Snapshot) -> dict[str, Any]:
    """One line of the list of studies."""
    card = snapshot.study.card
    state = run_state(snapshot.last_run)
    return {
        "name": name,
        "uuid": card.uuid,
        "simulated": card.simulated,
        "state": state.word,
        "state_sentence": state.sentence,
        "created_at": card.created_at,
        "main_level": snapshot.main_level,
        "trials": counts_json(snapshot),
        "best": best_json(snapshot, snapshot.main_level),
        "plan": _plan(snapshot, state),
        "running": snapshot.live.row.number if snapshot.live and state.word != "died" else None,
        "caveat": snapshot.caveat,
    }


def study_json(name: str, snapshot: Snapshot) -> dict[str, Any]:
    """The whole study page."""
    card = snapshot.study.card
    summary = study_summary_json(name, snapshot)
    is_live = summary["running"] is not None and snapshot.live is not None
    return {
        **summary,
        "levels": list(snapshot.study.bench.levels),
        "limits": snapshot.study.limits.model_dump(exclude_none=True),
        "model": card.spec.get("server", {}).get("model_path"),
        "versions": dict(card.versions),
        "gpus": list(card.gpus),
        "runs": [asdict(run) for run in snapshot.runs],
        "running": _live_json(snapshot.live) if is_live and snapshot.live else None,
        "events": [asdict(event) for event in snapshot.events],
    }


def best_json(snapshot: Snapshot, level: int) -> dict[str, Any]:
    """The verdict at a level, with the winner's settings and how they differ from the baseline's."""
    verdict = snapshot.verdict(level)
    winner = snapshot.row(verdict.best) if verdict.best is not None else None
    baseline = snapshot.row(verdict.baseline) if verdict.baseline is not None else None
    settings = dict(winner.settings or {}) if winner else None
    return {
        **verdict.to_json(),
        "settings": settings,
        "baseline_settings": dict(baseline.settings or {}) if baseline else None,
        "changes": changes(baseline.settings, settings) if baseline and settings is not None else None,
    }


def counts_json(snapshot: Snapshot) -> dict[str, int]:
    """Trials by outcome; "running" are those that have not ended."""
    seen = Counter(
        row.outcome or ("interrupted" if row.is_told else "running") for row in snapshot.study.rows
    )
    words = ("running", *OUTCOME_WORDS.values())
    return {"total": len(snapshot.study.rows), **{word: seen[word] for word in words}}


def _plan(snapshot: Snapshot, state: RunState) -> dict[str, Any]:
    run = snapshot.last_run
    left = None
    if run and run.boots_planned is not None:
        left = max(0, run.boots_planned - snapshot.boots)
    return {
        "boots": snapshot.boots,
        "boots_planned": run.boots_planned if run else None,
        "boots_left": left,
        "ends_by": run.ends_by if run else None,
        "seconds_left": _seconds_left(snapshot, left) if state.word in ("running", "elsewhere") else None,
    }


def _seconds_left(snapshot: Snapshot, boots_left: int | None) -> float | None:
    """To the deadline, or as long as the planned boots take at the pace so far, whichever is sooner."""
    run = snapshot.last_run
    estimates = []
    if run and run.ends_by:
        estimates.append(-seconds_between(run.ends_by))
    if run and boots_left is not None and (pace := _seconds_a_trial(snapshot)):
        estimates.append(boots_left * pace)
    return max(0.0, min(estimates)) if estimates else None


def _seconds_a_trial(snapshot: Snapshot) -> float | None:
    took = [
        seconds_between(row.started_at, row.ended_at)
        for row in snapshot.study.rows
        if row.started_at and row.ended_at
    ]
    return sum(took) / len(took) if took else None


def _live_json(live: LiveTrial) -> dict[str, Any]:
    row = live.row
    return {
        "number": row.number,
        "role": row.role,
        "settings": dict(row.settings or {}),
        "proposal": row.proposal,
        "started_at": row.started_at,
        "seconds": seconds_between(row.started_at) if row.started_at else None,
        "stage": live.stages[-1].stage if live.stages else None,
        "stages": stages_json(live.stages, row),
        "progress": asdict(live.progress) if live.progress else None,
        "measurements": list(live.measurements),
        "gpus": asdict(live.gpus) if live.gpus else None,
    }
