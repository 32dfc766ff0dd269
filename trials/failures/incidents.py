"""Finds the places in a log where something broke: tracebacks taken apart, and fatal lines without one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from trials.boot_log import BootLog, LogLine
from trials.failures import signs
from trials.outcome import Stage

MAX_INCIDENTS = 200
"""Kept before the ready line, and again after it. Dying ranks can print thousands of tracebacks."""

MAX_MESSAGE_LINES = 60
"""Of an exception: a failed kernel build says the reason late. A fatal line without one gets far fewer."""

MAX_HALF = 4000
MAX_TAIL_LINES = 8
MAX_LINE = 2000
MAX_FRAMES = 200

_FRAME = re.compile(r'\s*File "(?P<file>[^"]*)", line \d+, in (?P<function>\S+)')
_BARE_EXCEPTION = re.compile(r"(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Timeout)(?:: .+)?$")
_RANK = re.compile(r"\[rank(?P<rank>\d+)\]:? ?")
_TRACEBACK = "Traceback (most recent call last):"
_SEQUEL = "During handling of the above exception, another exception occurred:"
_CAUSE = "The above exception was the direct cause of the following exception:"


@dataclass
class Statement:
    """One exception of a chain: its line and the further lines of its message."""

    number: int
    lines: list[str]
    room: int = MAX_MESSAGE_LINES
    caused_the_next: bool = False

    @property
    def text(self) -> str:
        """The message without the advice; of a very long one (compilers) the beginning and the end."""
        text = signs.without_advice("\n".join(self.lines))
        if len(text) <= 2 * MAX_HALF:
            return text
        return f"{text[:MAX_HALF]}\n{text[-MAX_HALF:]}"


@dataclass
class Incident:
    """One place where something broke.

    Attributes:
        header: The line that announced it.
        number: Line number of the header, from 1.
        rank: Its rank's tags, empty for the launcher.
        stage: What that rank was doing.
        stamp: The log's clock, s: the line's own, else that of the last line that had one.
        strong: Only a dying process prints this; the others may be caught and logged errors.
        after_ready: It came after the ready line.
        after_stop: It came after somebody had asked the server to stop.
        frames: ``file:function`` of the traceback, outermost first.
        statements: The exceptions, in the order of the log.
    """

    header: str
    number: int
    rank: str
    stage: Stage
    stamp: float
    strong: bool
    after_ready: bool
    after_stop: bool
    frames: list[str] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)

    def by_weight(self) -> Iterable[Statement]:
        """The exceptions, the likeliest cause first.

        ``raise X from cause`` makes the cause the reason. Otherwise the later exception is what was finally
        raised, and the earlier may have been a mere attempt.
        """
        order = list(self.statements)
        if not any(statement.caused_the_next for statement in order):
            order.reverse()
        return order

    def evidence(self) -> tuple[str, ...]:
        """The lines that prove it, with their numbers."""
        shown = [(self.number, f"[{self.rank}] {self.header}" if self.rank else self.header)]
        for statement in self.statements:
            shown += [(statement.number + index, line) for index, line in enumerate(statement.lines[:4])]
        unique = dict(shown)
        return tuple(
            f"line {number}: {text[:300]}" for number, text in sorted(unique.items()) if text.strip()
        )


class IncidentReader:
    """Reads lines beside a ``BootLog`` that has already seen them, and collects the incidents.

    Attributes:
        incidents: In the order of the log.
        stop_requested: Somebody asked the server to stop.
        died: The launcher said that it takes its process tree down.
    """

    def __init__(self, log: BootLog) -> None:
        self.incidents: list[Incident] = []
        self.stop_requested = False
        self.died = False
        self._counts = {False: 0, True: 0}
        self._log = log
        self._open: Incident | None = None
        self._expecting = False  # frames were seen: the next line at the margin is the exception
        self._linked = False
        self._muted = False
        self._clock = 0.0

    @property
    def inside(self) -> bool:
        """True while the next lines may belong to an exception."""
        return self._open is not None

    def feed(self, number: int, line: LogLine) -> None:
        """Take one clean line with its number."""
        if line.stamped:
            self._open = None
            self._clock = line.stamp or self._clock
            self._muted = signs.SOMEBODY_ELSES.match(line.text) is not None
            self.stop_requested = self.stop_requested or signs.STOP_REQUESTED.match(line.text) is not None
            self.died = self.died or signs.DEATH.match(line.text) is not None
        elif "]: Skipping tactic" in line.text:
            self._muted = True
        text = line.text
        if text.startswith("[rank"):
            text = _RANK.sub("", text, count=1)
        if self._open is None or not self._continues(self._open, number, text):
            self._look(number, line, text)

    def _look(self, number: int, line: LogLine, text: str) -> None:
        """Does an incident begin here?"""
        if text[:1] in ("", " ", "\t") or signs.NEVER_THE_CAUSE.match(text):
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
            incident.statements.append(Statement(number, [text[:MAX_LINE]], room=MAX_TAIL_LINES))
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
            return self._next_traceback()
        return self._message(incident, number, text)

    def _next_traceback(self) -> bool:
        """After a linking sentence it goes on with the chain, otherwise it is another incident."""
        if not self._linked:
            return False
        self._linked, self._expecting = False, True
        return True

    def _message(self, incident: Incident, number: int, text: str) -> bool:
        if self._expecting:
            if text[:1] not in ("", " ", "\t"):
                incident.statements.append(Statement(number, [text[:MAX_LINE]]))
                self._expecting = False
            return True
        last = incident.statements[-1]
        if len(last.lines) >= last.room:
            self._open = None
            return False
        if not signs.NEVER_THE_CAUSE.match(text):
            last.lines.append(text[:MAX_LINE])
        return True
