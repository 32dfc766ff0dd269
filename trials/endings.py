"""Why the life of a server ended before it was finished; raised inside a trial, never out of it."""

from __future__ import annotations

from collections.abc import Sequence

from trials.outcome import FailureKind, Stage


class EndOfLife(Exception):  # noqa: N818 - an ending, not always an error
    """Base of all endings."""


class Died(EndOfLife):
    """The server ended by itself, or said that it is lost; its log and exit code say why."""


class Hung(EndOfLife):
    """The server is alive and does not get on."""

    def __init__(self, stage: Stage, sentence: str) -> None:
        super().__init__(sentence)
        self.stage = stage
        self.sentence = sentence


class WrongOutput(EndOfLife):
    """The server answers nonsense, however fast."""

    def __init__(self, sentences: Sequence[str]) -> None:
        super().__init__("; ".join(sentences))
        self.sentences = tuple(sentences)


class GpuLost(EndOfLife):
    """A card vanished or reported an Xid error."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


class Overflowed(EndOfLife):
    """The disk would soon have been full."""

    def __init__(self, kind: FailureKind, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence


class Asked(EndOfLife):
    """The stop signal was set."""
