"""SGLang's log lines: time stamp and rank in brackets, each line written whole."""

from __future__ import annotations

import os
import time

_LOG_FD = 2


class Console:
    """Writes one process's lines to the log.

    Args:
        rank: The tag inside the bracket, such as ``" TP0"`` or ``" DP1 TP4 EP4"``; empty for the launcher.
    """

    def __init__(self, rank: str = "") -> None:
        self._rank = rank

    def log(self, text: str) -> None:
        self.raw(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}{self._rank}] {text}")

    def raw(self, text: str) -> None:
        """A line without a prefix, as warnings and tracebacks have it."""
        data = f"{text}\n".encode()
        while data:
            data = data[os.write(_LOG_FD, data) :]
