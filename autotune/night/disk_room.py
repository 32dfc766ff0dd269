"""A disk that fills up during a night: logs make room, results never do."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from optuna.trial import TrialState

from autotune.night.archive import compress_logs
from autotune.night.study_book import trial_folder
from autotune.trial_view import TrialView

TIGHT_MIB = 1024
"""Free space below which logs are given up: a sick server writes hundreds of MiB until it is stopped."""
LEAST_MIB = 256
"""Free space without which no trial is started; ``trials.log_guard`` ends a running one at half of it."""
_log = logging.getLogger(__name__)


def free_mib(folder: Path) -> int:
    return shutil.disk_usage(folder).free >> 20


@dataclass(frozen=True)
class DiskRoom:
    """Keeps room on the study's disk.

    Attributes:
        say: Told what was given up, one sentence.
        free: Free space of the disk under a folder, MiB.
    """

    folder: Path
    say: Callable[[str], None]
    free: Callable[[Path], int] = free_mib

    def make(self, history: Sequence[TrialView]) -> str | None:
        """Make room if the disk is nearly full.

        First what a death left uncompressed is compressed, then logs of healthy trials are dropped, oldest
        first and only as many as needed. Logs of failures stay: they are the proof of what failed.

        Returns:
            Why no trial may be started, None when there is room.
        """
        if self._is_enough():
            return None
        ended = [trial for trial in history if trial.state.is_finished()]
        for trial in ended:
            compress_logs(self._folder_of(trial))
        dropped = [trial.number for trial in self._dropped(ended)]
        free = self.free(self.folder)
        if dropped:
            self.say(
                f"the disk is nearly full ({free:,} MiB free): the server logs of {len(dropped)} healthy "
                f"trials were dropped, trial {dropped[-1]}'s last; results and failures' logs are kept"
            )
        if free >= LEAST_MIB:
            return None
        return (
            f"the disk of {self.folder} is full ({free} MiB free): make room, then start the same study again"
        )

    def _dropped(self, ended: Sequence[TrialView]) -> Iterator[TrialView]:
        for trial in ended:
            if self._is_enough():
                return
            logs = list(self._folder_of(trial).glob("server*.log.gz")) if _is_healthy(trial) else []
            if _delete(logs):
                yield trial

    def _is_enough(self) -> bool:
        return self.free(self.folder) >= TIGHT_MIB

    def _folder_of(self, trial: TrialView) -> Path:
        return self.folder / trial_folder(trial.number)


def _is_healthy(trial: TrialView) -> bool:
    return trial.state in (TrialState.COMPLETE, TrialState.PRUNED) and trial.failure is None


def _delete(logs: Sequence[Path]) -> bool:
    """True when at least one is gone; one that cannot be deleted is left to its owner."""
    gone = False
    for log in logs:
        try:
            log.unlink()
            gone = True
        except OSError as error:
            _log.warning("%s stays: %s", log, error)
    return gone
