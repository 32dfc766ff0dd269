"""The Recorder: to whom a trial reports while it lives, and the stop request that it obeys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from trials.gpus import GpuSample
from trials.outcome import BootReport, Measurement, Stage


class Recorder(Protocol):
    """Receives a trial's progress. Calls are cheap and never raise into the trial."""

    def boot_started(self, boot: int, argv: Sequence[str], env: Mapping[str, str], pid: int) -> None:
        """A server process was started (1 for the trial's first boot); secrets are already replaced."""

    def stage(self, stage: Stage, seconds: float) -> None:
        """A stage began, ``seconds`` after the trial's start."""

    def booted(self, report: BootReport) -> None:
        """The server answered a real generation."""

    def progress(self, level: int, tok_s: float) -> None:
        """Throughput so far at a level that is still being measured, tok/s."""

    def measured(self, measurement: Measurement) -> None:
        """A level is done."""

    def warning(self, text: str) -> None:
        """Something worth showing beside the result."""

    def gpus(self, samples: Sequence[GpuSample]) -> None:
        """One sample of every card."""


class StopSignal(Protocol):
    """Asked often by a running trial; ``threading.Event`` satisfies it."""

    def is_set(self) -> bool: ...
