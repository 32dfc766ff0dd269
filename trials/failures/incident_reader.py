"""Finds the incidents of a log, line by line, in bounded memory."""

from __future__ import annotations

import re

from trials.boot_log import BootLog, LogLine
from trials.boot_log.wording import STOPS_SERVER
from trials.failures import signs
from trials.failures.incidents import Incident, Statement

MAX_INCIDENTS = 200
"""Kept before the ready line, and again after it. Dying ranks can print thousands of tracebacks."""

MAX_MESSAGE_LINES = 60
"""Of an exception: a failed kernel build says the reason late. A fatal line without one gets far fewer."""

MAX_TAIL_LINES = 8
MAX_LINE = 2000
MAX_FRAMES = 200

_FRAME = re.compile(r'\s*File "(?P<file>[^"]*)", line \d+, in (?P<function>\S+)')
_BARE_EXCEPTION = re.compile(r"(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Timeout)(?:: .+)?$")
_RANK = re.compile(r"\[rank(?P<rank>\d+)\]:? ?")
_TRACEBACK = "Traceback (most recent call last):"
_SEQUEL = "During handling of the above exception, another exception occurred:"
_CAUSE = "The above exception was the direct cause of the following exception:"


class IncidentReader:
    """Reads lines beside a ``BootLog`` that has already seen them, and collects the incidents.

    Attributes:
        incidents: In the order of the log.
        stop_requested: Somebody asked the server to stop.
        stopped_by_us: It was the worker, by its own line in the log.
        died: The launcher said that it takes its process tree down.
    """

    def __init__(self, log: BootLog) -> None:
        self.incidents: list[Incident] = []
        self.stop_requested = self.stopped_by_us = False
        self.died = False
        self._counts = {False: 0, True: 0}
        self._log = log
        self._open: Incident | None = None
        self._expecting = False  # frames were seen: the next line at the margin is the exception
        self._linked = False
        self._muted = False
        self._ended_by_us = False
        self._clock = 0.0

    @property
    def inside(self) -> bool:
        """True while the next lines may belong to an exception."""
        return self._open is not None

    @property
    def full(self) -> bool:
        """True while no further incident would be kept."""
        return self._counts[self._log.ready] >= MAX_INCIDENTS

    def feed(self, number: int, line: LogLine) -> None:
        """Take one clean line with its number."""
        if signs.SOMEBODY_ELSES.match(line.text):
            self._muted = True
        elif line.stamped:
            self._muted = False
        if line.stamped:
            self._open = None
            self._clock = line.stamp or self._clock
            self.stop_requested = self.stop_requested or signs.STOP_REQUESTED.match(line.text) is not None
            self.died = self.died or signs.DEATH.match(line.text) is not None
        elif line.text.startswith(STOPS_SERVER):
            self.stopped_by_us = self.stopped_by_us or not self.stop_requested
            self._open, self._ended_by_us, self.stop_requested = None, True, True
        text = line.text
        if text.startswith("[rank"):
            text = _RANK.sub("", text, count=1)
        if self._open is None or not self._continues(self._open, number, text):
            self._look(number, line, text)

    def _look(self, number: int, line: LogLine, text: str) -> None:
        """Does an incident begin here?"""
        if text[:1] in ("", " ", "\t") or signs.NEVER_THE_CAUSE.match(text):
            return
        if self._ended_by_us and not signs.DECIDES_ALWAYS.match(text):
            return
        strength = signs.strength_of(text)
        traceback = text.endswith(_TRACEBACK)
        if self._muted and strength != "strong":
            return
        if traceback or strength or (not line.stamped and _BARE_EXCEPTION.match(text)):
            self._begin(number, line, text, strong=strength == "strong", traceback=traceback)

    def _begin(self, number: int, line: LogLine, text: str, *, strong: bool, traceback: bool) -> None:
        incident = Incident(
            header=text[:MAX_LINE],
            number=number,
            rank=line.rank,
            stage=self._log.activity(line.rank),
            stamp=self._clock,
            strong=strong,
            after_ready=self._log.ready,
            after_stop=self.stop_requested,
        )
        if not traceback:
            incident.statements.append(Statement({number: text[:MAX_LINE]}, MAX_TAIL_LINES))
        self._counts[incident.after_ready] += 1
        if self._counts[incident.after_ready] <= MAX_INCIDENTS:
            self.incidents.append(incident)
            self._open, self._expecting, self._linked = incident, traceback, False

    def _continues(self, incident: Incident, number: int, text: str) -> bool:
        """Add a line to the open incident; False when it does not belong there."""
        frame = _FRAME.match(text)
        if frame is not None:
            if len(incident.frames) < MAX_FRAMES:
                incident.frames.append(f"{frame['file'].rpartition('/')[2]}:{frame['function']}")
            self._expecting = True
            return True
        if text.startswith((_SEQUEL, _CAUSE)):
            if incident.statements:
                incident.statements[-1].caused_the_next = text.startswith(_CAUSE)
            self._linked = True
            return True
        if text.startswith(_TRACEBACK):
            return self._next_traceback(incident)
        return self._message(incident, number, text)

    def _next_traceback(self, incident: Incident) -> bool:
        """After a linking sentence or a mere heading it belongs here, otherwise it is another incident."""
        heading = not incident.frames and incident.header.endswith(":")
        if not self._linked and not heading:
            return False
        if heading:
            incident.statements.clear()
        self._linked, self._expecting = False, True
        return True

    def _message(self, incident: Incident, number: int, text: str) -> bool:
        if self._expecting:
            if text[:1] not in ("", " ", "\t"):
                incident.statements.append(Statement({number: text[:MAX_LINE]}, MAX_MESSAGE_LINES))
                self._expecting = False
            return True
        last = incident.statements[-1]
        if len(last.lines) >= last.room:
            self._open = None
            return False
        if not signs.NEVER_THE_CAUSE.match(text):
            last.lines[number] = text[:MAX_LINE]
        return True
