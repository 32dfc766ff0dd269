"""A place in a log where something broke: a traceback taken apart, or a fatal line without one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trials.failures import signs
from trials.outcome import Stage

MAX_HALF = 4000
"""Characters from each end of a message that rules look at: compilers say a lot."""

SHOWN_LINES = 4
SHOWN = 300
"""Lines of an exception that are shown as evidence, and characters of each."""


@dataclass
class Statement:
    """One exception of a chain.

    Attributes:
        lines: Its line and the further lines of its message, by line number.
        room: How many lines it may have.
        caused_the_next: The next exception was raised from it.
    """

    lines: dict[int, str]
    room: int
    caused_the_next: bool = False

    @property
    def text(self) -> str:
        """The message without the advice; of a very long one (compilers) the beginning and the end."""
        text = signs.without_advice("\n".join(self.lines.values()))
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
        shown = {self.number: f"[{self.rank}] {self.header}" if self.rank else self.header}
        for statement in self.statements:
            shown |= dict(list(statement.lines.items())[:SHOWN_LINES])
        return tuple(
            f"line {number}: {text[:SHOWN]}" for number, text in sorted(shown.items()) if text.strip()
        )
