"""Which study is meant: a name, a folder, a file, or nothing at all."""

from __future__ import annotations

import os
from pathlib import Path

from db.errors import StudyFileError

STUDY_FILE = "study.db"
STUDIES_VARIABLE = "AUTOTUNE_STUDIES"


def studies_folder(option: Path | None = None) -> Path:
    """Where studies lie: ``--studies``, else ``$AUTOTUNE_STUDIES``, else ``./studies``."""
    return option or Path(os.environ.get(STUDIES_VARIABLE) or "studies")


def list_studies(folder: Path) -> list[Path]:
    """The ``study.db`` of every study in a folder, most recently changed first."""
    return sorted(folder.glob(f"*/{STUDY_FILE}"), key=_changed, reverse=True)


def find_study(argument: str | None, folder: Path) -> Path:
    """Resolve a STUDY argument to its ``study.db``; left out, the most recently changed study.

    Raises:
        StudyFileError: If there is none.
    """
    if not argument:
        newest = list_studies(folder)
        if not newest:
            raise StudyFileError(
                f"{folder}: there is no study in this folder; name one, or start with: autotune run"
            )
        return newest[0]
    for path in (Path(argument), Path(argument) / STUDY_FILE, folder / argument / STUDY_FILE):
        if path.is_file():
            return path
    raise StudyFileError(
        f"{argument}: no study of this name in {folder}, no study folder, and no study file; "
        "list them with: autotune status --all"
    )


def _changed(path: Path) -> float:
    """Seconds since the epoch; a runner's newest writes stand in the ``-wal`` beside the file."""
    times = [path.stat().st_mtime]
    wal = path.with_name(path.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        times.append(wal.stat().st_mtime)
    return max(times)
