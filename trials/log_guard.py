"""A server that writes without end is ended before its log has filled the disk."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from trials.endings import Overflowed
from trials.outcome import FailureKind
from trials.recorder import StopSignal

MOST_LOG_MIB = 512
"""No sound server writes so much while it is measured: a night's logs are some MiB each."""
LEAST_FREE_MIB = 128
"""With less than this the study itself can soon not be written."""
_LOOKS_EVERY_S = 0.5


def _free_mib(folder: Path) -> int:
    return shutil.disk_usage(folder).free >> 20


class LogGuard:
    """The trial's stop signal, which is also set once the log grows too long or its disk too full.

    Attributes:
        ending: Why the server must end, None while all is well.
    """

    def __init__(self, log: Path, stop: StopSignal, free_mib: Callable[[Path], int] = _free_mib) -> None:
        self.ending: Overflowed | None = None
        self._log = log
        self._stop = stop
        self._free_mib = free_mib
        self._looked = time.monotonic()

    def is_set(self) -> bool:
        if time.monotonic() - self._looked >= _LOOKS_EVERY_S:
            with contextlib.suppress(OSError):  # a log that somebody has deleted fills nothing
                self.look()
        return self.ending is not None or self._stop.is_set()

    def look(self) -> None:
        self._looked = time.monotonic()
        log_mib, free_mib = self._log.stat().st_size >> 20, self._free_mib(self._log.parent)
        if log_mib > MOST_LOG_MIB:
            # Whether its settings make it write, or this machine makes every server write, others must show.
            self.ending = Overflowed(
                FailureKind.UNKNOWN,
                f"the server wrote {log_mib:,} MiB of log and was ended before that filled the disk; "
                f"the end of {self._log} shows what it repeats",
            )
        elif free_mib < LEAST_FREE_MIB:
            self.ending = Overflowed(
                FailureKind.ENVIRONMENT,
                f"the disk of {self._log.parent} is nearly full ({free_mib} MiB left, {log_mib:,} MiB taken "
                "by the server's log): make room",
            )
