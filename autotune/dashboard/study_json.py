"""A study as JSON: what the API answers and the pages draw."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from autotune.dashboard.snapshot import LiveTrial, Snapshot
from autotune.dashboard.trial_json import changes, stages_json
from autotune.importing.imported import taken_words
from autotune.moments import seconds_between
from autotune.night.finals import finals_boots
from autotune.standing import standing


def study_summary_json(name: str, snapshot: Snapshot, level: int | None = None) -> dict[str, Any]:
    """One line of the list of studies; ``best`` at a level, left out the main one."""
    card = snapshot.study.card
    stands = standing(snapshot.study, snapshot.last_run, snapshot.boots)
    state = stands.state
    return {
        "name": name,
        "uuid": card.uuid,
        "simulated": card.simulated,
        "state": state.word,
        "state_sentence": state.sentence,
        "created_at": card.created_at,
        "main_level": snapshot.main_level,
        "trials": dict(stands.counts),
        "best": best_json(snapshot, snapshot.main_level if level is None else level),
        "plan": {**stands.plan_json(), "finals_boots": _finals_boots(snapshot)},
        "running": snapshot.live.row.number if snapshot.live and state.word != "died" else None,
        "caveat": snapshot.caveat,
    }


def study_json(name: str, snapshot: Snapshot, level: int | None = None) -> dict[str, Any]:
    """The whole study page, at a level; left out, the main one."""
    card = snapshot.study.card
    summary = study_summary_json(name, snapshot, level)
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
        "requests": [asdict(request) for request in snapshot.requests],
        "notes": [asdict(note) for note in snapshot.notes if note.trial is None],
        "ruled_out": list(snapshot.study.ruled_out),
        "imports": [{**asdict(source), "sentence": taken_words(source)} for source in snapshot.imports],
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


def _finals_boots(snapshot: Snapshot) -> dict[str, int | None]:
    """Boots of the finals: planned (None while the night's length, which decides, is unknown) and done."""
    asked = (snapshot.study.card.spec.get("finals") or {}).get("boots")
    night = snapshot.last_run.boots_planned if snapshot.last_run else None
    planned = asked if night is None else finals_boots(asked, night)
    return {"planned": planned, "done": sum(row.role == "final" for row in snapshot.study.rows)}


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
