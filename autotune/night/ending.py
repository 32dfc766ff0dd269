"""How a run comes to its end: by itself, by a study that can no longer be written, or by an error of ours."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable

from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import OperationalError

from autotune.night.death_scene import RUNNER_ERROR
from autotune.night.loop import FAILED, NightResult
from db.engine import reason_of
from db.errors import StudyFileError
from db.journal import Journal

_NO_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
_log = logging.getLogger(__name__)


def run_to_end(journal: Journal, night: Callable[[], NightResult]) -> NightResult:
    """Run a night and write down how it ended.

    A study that can no longer be written (disk full, locked for long, folder gone) ends the night with a
    sentence; whatever else is raised passes through.
    """
    try:
        result = night()
    except Exception as error:
        if not _cannot_write(error):
            _write_end(journal, f"{RUNNER_ERROR}{type(error).__name__}: {error}")
            raise
        result = _cannot_go_on(error)
    _write_end(journal, result.sentence)
    return result


def _cannot_write(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in _NO_DISK
    return isinstance(error, StudyFileError | StorageInternalError | OperationalError)


def _cannot_go_on(error: Exception) -> NightResult:
    sentence = (
        f"the night ends here, for its study cannot be written ({reason_of(error).rstrip('.')}). "
        "Every trial told so far is safe: make room or mend the disk, then start the same study again."
    )
    return NightResult(FAILED, sentence)


def _write_end(journal: Journal, how: str) -> None:
    try:
        journal.end_run(how)
    except (StudyFileError, OperationalError) as error:
        _log.warning("how the run ended could not be written: %s", error)
