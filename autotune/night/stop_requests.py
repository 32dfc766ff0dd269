"""How a night is asked to end: Ctrl-C, SIGTERM, and the inbox of page and command line."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_LOOKS_EVERY_S = 0.2


class StopRequests:
    """What was asked so far.

    Attributes:
        now: End the running trial at once.
        hurry: And kill its server without grace.
        after_trial: End when the running trial is done.
    """

    def __init__(self) -> None:
        self.now = threading.Event()
        self.hurry = threading.Event()
        self.after_trial = threading.Event()
        self.by_signal = False

    @property
    def any(self) -> bool:
        return self.now.is_set() or self.after_trial.is_set()

    def wait(self, seconds: float) -> None:
        """Let time pass, s; any request ends the wait."""
        end = time.monotonic() + seconds
        while not self.any and (left := end - time.monotonic()) > 0:
            self.now.wait(min(_LOOKS_EVERY_S, left))

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Turn SIGINT and SIGTERM into requests; only in the main thread, where Python delivers them."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self._on_signal) for number in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.now.is_set():
            self.hurry.set()
        self.by_signal = True
        self.now.set()
