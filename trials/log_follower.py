"""A server's log while it runs: new lines become events, and what they say is remembered."""

from __future__ import annotations

import time
from collections.abc import Callable

from trials.boot_log import BootLog, Event, Fatal, StageChanged, is_health_echo
from trials.log_tail import LogTail
from trials.outcome import Stage


class LogFollower:
    """Feeds a log to a BootLog.

    Args:
        on_stage: Told of each stage that the log shows up to the ready line, whose word alone proves nothing.

    Attributes:
        boot_log: What the log has said so far.
    """

    def __init__(self, tail: LogTail, on_stage: Callable[[Stage], None]) -> None:
        self.boot_log = BootLog()
        self._tail = tail
        self._on_stage = on_stage
        self._last_output = time.monotonic()
        self._lost_since: float | None = None

    def poll(self) -> list[Event]:
        """What the log has said since the last call."""
        before, lines, echoes = self._tail.offset, 0, 0
        events: list[Event] = []
        for line in self._tail.lines():
            lines += 1
            echoes += is_health_echo(line)
            events += self.boot_log.feed(line)
        # A progress bar that grows is no whole line yet.
        if self._tail.offset != before and (not lines or echoes < lines):
            self._last_output = time.monotonic()
        for event in events:
            if isinstance(event, StageChanged) and event.stage is not Stage.READY:
                self._on_stage(event.stage)
            elif isinstance(event, Fatal) and self._lost_since is None:
                self._lost_since = time.monotonic()
        return events

    def silent_s(self) -> float:
        """How long the log has said nothing but answers to health checks, s."""
        return time.monotonic() - self._last_output

    def lost_s(self) -> float:
        """How long ago the server said that it will not serve, s; 0 while it did not."""
        return 0.0 if self._lost_since is None else time.monotonic() - self._lost_since
