"""Why a measurement ended without a number. Each ends in one sentence that a person can act on."""

from __future__ import annotations

from collections.abc import Sequence

from trials.outcome import FailureKind, Measurement


class MeasureError(RuntimeError):
    """The server, or what was asked of it, made a measurement impossible.

    Attributes:
        kind: What it proves by itself, or None: then the server's log and exit say what happened.
        summary: One sentence.
        evidence: What the server said, word for word.
        status: The HTTP status if the server refused, else None.
    """

    def __init__(
        self,
        kind: FailureKind | None,
        summary: str,
        evidence: Sequence[str] = (),
        status: int | None = None,
    ) -> None:
        super().__init__(summary)
        self.kind = kind
        self.summary = summary
        self.evidence = tuple(evidence)
        self.status = status


class NoSteadyWindowError(MeasureError):
    """At no moment did all streams decode together for long enough to take a throughput from."""


class Hopeless(Exception):  # noqa: N818 - a decision, not an error
    """Measured enough to know that it cannot win.

    Attributes:
        measurement: What was seen until then.
    """

    def __init__(self, measurement: Measurement) -> None:
        super().__init__(f"{measurement.decode_tok_s:.1f} tok/s at {measurement.level} streams is hopeless")
        self.measurement = measurement


class StopRequested(Exception):  # noqa: N818 - asked for, not an error
    """The stop signal was set during a measurement."""
