"""What the study, its folder and the machine show of a trial that died with its runner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import cast

from sqlalchemy import Connection

from autotune.night.machine_before import MachineBefore
from autotune.night.postmortem import Death, Scene
from autotune.night.study_book import trial_folder
from autotune.trial_view import TrialView
from db import queries
from db.rows import StageRow
from trials.failures import diagnose_file
from trials.failures.files import LogError
from trials.marks import marked_processes
from trials.outcome import Failure, Stage

RUNNER_ERROR = "autotune failed: "
"""How the sentence begins with which a run ends that an error of ours ended."""


def death_scene(
    connection: Connection, folder: Path, study_uuid: str, trial: TrialView, history: Sequence[TrialView]
) -> Scene:
    """Look at a trial that never ended; its server, if one still runs, must not have been stopped yet.

    Args:
        history: The whole study.
    """
    stages = queries.stages(connection, trial.number)
    stage = Stage(stages[-1].stage) if stages else Stage.ARGUMENTS
    own_folder = folder / trial_folder(trial.number)
    lives = bool(marked_processes(f"{study_uuid}:{trial.number}"))
    return Scene(
        death=_death(own_folder, _last_words(connection)),
        stage=stage,
        log_failure=None if lives else _log_failure(own_folder, stage, trial),
        same_settings=_deaths(past for past in history if past.asked == trial.asked),
        other_settings=_deaths(past for past in history if past.asked != trial.asked),
        seconds=_seconds(stages, last_sign(connection, trial.number)),
    )


def last_sign(connection: Connection, number: int) -> str | None:
    """The last moment at which a trial is known to have lived, as ``db.clock`` writes it."""
    signs = [row.at for row in queries.stages(connection, number)[-1:]]
    signs += [row.at for row in queries.gpu_samples(connection, number, last=1)]
    return max(signs, default=None)


def _death(folder: Path, last_words: str) -> Death:
    before, now = MachineBefore.read(folder), MachineBefore.now()
    if before is not None and before.rebooted_since(now):
        return "reboot"
    if before is not None and before.killed_for_memory_since(now):
        return "out_of_memory"
    return "error" if last_words.startswith(RUNNER_ERROR) else "killed"


def _last_words(connection: Connection) -> str:
    """How the run before the newest ended; the newest is ours."""
    earlier = queries.runs(connection)[:-1]
    return (earlier[-1].how or "") if earlier else ""


def _log_failure(folder: Path, stage: Stage, trial: TrialView) -> Failure | None:
    """What the newest server's log says by itself."""
    logs = [log for log in folder.glob("server*.log") if log.is_file()]
    if not logs:
        return None
    newest = max(logs, key=lambda log: log.stat().st_mtime)
    try:
        return diagnose_file(newest, stage=stage, settings=trial.settings).failure
    except LogError:
        return None


def _deaths(trials: Iterable[TrialView]) -> tuple[Death, ...]:
    return tuple(cast(Death, trial.death) for trial in trials if trial.death)


def _seconds(stages: Sequence[StageRow], last: str | None) -> float | None:
    """From the trial's start to its last sign of life, s."""
    if not stages:
        return None
    newest = stages[-1]
    if last is None:
        return newest.seconds
    since = (datetime.fromisoformat(last) - datetime.fromisoformat(newest.at)).total_seconds()
    return newest.seconds + max(0.0, since)
