"""Trials of an Optuna study that autotune did not make: whatever ran there, it is a weaker prior."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import optuna
from optuna.storages import RDBStorage
from optuna.study import StudyDirection
from optuna.trial import TrialState

from autotune.importing.imported import Imported, SourceError
from autotune.importing.target import Target
from autotune.search import SpaceError
from db.imports import ImportedBoot

_REASON = "Optuna alone does not say what model, SGLang and cards it was"


def is_plain_optuna(path: Path) -> bool:
    """An SQLite file with Optuna's tables and none of ours."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        finally:
            connection.close()
    except sqlite3.DatabaseError:
        return False
    return "trial_values" in names and "autotune_study" not in names


def from_optuna(path: Path, target: Target) -> Imported:
    """Read the completed trials of every study in the file; it is opened as a copy, Optuna would write to it.

    Raises:
        SourceError: If Optuna cannot read it, or no study in it maximises one value.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "study.db"
        shutil.copyfile(path, copy)
        try:
            studies = optuna.get_all_study_summaries(storage := RDBStorage(f"sqlite:///{copy}"))
            names = [one.study_name for one in studies if one.directions == [StudyDirection.MAXIMIZE]]
            trials = [
                trial
                for name in names
                for trial in optuna.load_study(study_name=name, storage=storage).trials
                if trial.state == TrialState.COMPLETE
            ]
            storage.remove_session()
            storage.engine.dispose()
        except RuntimeError as error:
            raise SourceError(f"{path}: this Optuna cannot read it: {error}") from error
    if not names:
        raise SourceError(f"{path}: no study in it maximises a single value")
    boots, left_out = [], []
    for trial in trials:
        try:
            settings = target.fitting({**trial.params, **(trial.user_attrs.get("ran") or {})})
        except SpaceError as error:
            left_out.append(f"trial {trial.number}: {error}")
            continue
        boots.append(ImportedBoot(source=str(path), same=False, settings=settings, value=trial.value))
    return Imported(str(path), boots, (_REASON,), left_out)
