"""Where imported boots go: a study that is there, or one that has not begun yet."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from autotune.importing.imported import Imported
from autotune.importing.target import Target
from autotune.night.lock import RunnerLock
from autotune.night.opening import describe
from autotune.night.plans import cache_folder
from autotune.spec import StudySpec
from db import queries
from db.engine import open_reader, open_storage, open_writer
from db.errors import StudyFileError
from db.imports import replace_imports
from db.journal import Journal
from db.studies import STUDY_FILE
from trials.flags import load_catalogue
from trials.launch import box_state
from trials.probes import open_probe


def prepare(spec: StudySpec, folder: Path) -> Path:
    """Describe a study in its file, so that boots can be compared with it before its first run.

    Returns:
        The ``study.db``.

    Raises:
        CatalogueError: If the server cannot be asked what it accepts.
        StudyIsRunningError: If somebody runs it.
    """
    catalogue = load_catalogue(spec.server, cache_folder())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / STUDY_FILE
    with (
        RunnerLock(folder),
        closing(open_probe(spec.server, box_state(folder))) as probe,
        Journal.open(path, create=True) as journal,
    ):
        describe(journal, spec, catalogue, probe)
        storage = open_storage(path)
        storage.remove_session()
        storage.engine.dispose()
    return path


def target_at(path: Path) -> Target:
    """The study in a file.

    Raises:
        StudyFileError: If it is no study, or has not been described yet.
    """
    open_writer(path).dispose()
    with open_reader(path) as reader, reader.connect() as connection:
        card = queries.study(connection)
    if card is None:
        raise StudyFileError(f"{path}: the study is empty; name its study file with --study")
    return Target(card)


def keep(path: Path, imported: Imported) -> None:
    """Write boots into a study's file; a night that runs learns from them at its next proposal."""
    engine = open_writer(path)
    try:
        replace_imports(engine, imported.source, imported.boots)
    finally:
        engine.dispose()
