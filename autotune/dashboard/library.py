"""Which studies a dashboard shows, by the name in their address."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from threading import Lock

from autotune.dashboard.source import StudySource
from db.errors import StudyFileError
from db.studies import STUDY_FILE, list_studies


class NoSuchStudyError(LookupError):
    """No study of this name is shown here."""


class Library:
    """A folder of studies, or one study file.

    Names come from the file system, never from a request: a request only picks one of them.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._sources: dict[Path, StudySource] = {}
        self._lock = Lock()

    def names(self) -> list[str]:
        """Most recently changed first."""
        return list(self._paths())

    def source(self, name: str) -> StudySource:
        """The study of a name.

        Raises:
            NoSuchStudyError: If there is none.
        """
        path = self._paths().get(name)
        if path is None:
            raise NoSuchStudyError(f"there is no study {name!r} here")
        with self._lock:
            if path not in self._sources:
                self._sources[path] = StudySource(path, name)
            return self._sources[path]

    def read_newest(self) -> None:
        """Read the study that somebody will most likely look at first, before he does."""
        for name in self.names()[:1]:
            with suppress(StudyFileError):
                self.source(name).snapshot().study.verdict()

    def close(self) -> None:
        for source in self._sources.values():
            source.close()

    def _paths(self) -> dict[str, Path]:
        files = list_studies(self._target) if self._target.is_dir() else [self._target]
        return {_name(path): path for path in files}


def _name(path: Path) -> str:
    return path.absolute().parent.name if path.name == STUDY_FILE else path.stem
