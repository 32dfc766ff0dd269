"""Boots of an earlier study of ours."""

from __future__ import annotations

from pathlib import Path

from autotune.importing.imported import Imported
from autotune.importing.target import Target
from autotune.search import SpaceError
from autotune.study_view import read_study
from autotune.trial_view import TrialView
from db.engine import open_reader
from db.imports import ImportedBoot


def from_study(path: Path, target: Target) -> Imported:
    """Read every boot that says something: what worked, and what failed through its settings.

    Raises:
        StudyFileError: If the file cannot be read as a study of ours.
    """
    with open_reader(path) as reader, reader.connect() as connection:
        study = read_study(connection)
    reasons = tuple(target.differences(study.card))
    boots, left_out = [], []
    for trial in study.trials:
        found = _boot(trial, target, str(path), same=not reasons)
        if isinstance(found, ImportedBoot):
            boots.append(found)
        elif found:
            left_out.append(f"trial {trial.number}: {found}")
    return Imported(str(path), boots, reasons, left_out)


def _boot(trial: TrialView, target: Target, source: str, *, same: bool) -> ImportedBoot | str:
    """The boot, or why it says nothing here; empty for one that never said anything."""
    crashed = trial.failure is not None and trial.failure.at_fault == "settings" and not trial.suspect
    if not trial.worked and not crashed:
        return ""
    level = target.bench.main_level
    measured = trial.at(level)
    if trial.worked and measured is None:
        return f"it has no result at level {level}"
    try:
        settings = target.fitting({**trial.settings, **trial.ran})
    except SpaceError as error:
        return str(error)
    return ImportedBoot(
        source=source,
        same=same,
        settings=settings,
        value=measured.decode_tok_s if trial.worked and measured else None,
        failure=trial.failure.model_dump(mode="json") if trial.failure else None,
        boot=trial.boot.model_dump(mode="json") if trial.boot else None,
        measurements=[one.model_dump(mode="json") for one in trial.measurements],
    )
