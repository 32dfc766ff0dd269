"""To whom a night tells what happens: a terminal, a log, a test."""

from __future__ import annotations

from typing import Protocol

from autotune.night.asking import Asked
from autotune.verdict import Verdict
from trials.outcome import AnyOutcome, Measurement, Stage


class Reporter(Protocol):
    """Receives a night's progress; calls are cheap. ``seconds`` are s, throughput is tok/s."""

    def page(self, url: str) -> None:
        """The dashboard is up."""

    def notice(self, sentence: str) -> None:
        """Something of the night itself worth a line."""

    def trial_started(
        self, asked: Asked, place: int, planned: int | None, seconds_left: float | None
    ) -> None:
        """Trial ``place`` of ``planned`` (None: open-ended) begins."""

    def stage(self, stage: Stage, seconds: float) -> None:
        """The running trial is at a stage, ``seconds`` after its start."""

    def progress(self, level: int, tok_s: float) -> None:
        """Throughput so far at the level being measured."""

    def measured(self, measurement: Measurement) -> None:
        """A level of the running trial is done."""

    def trial_ended(self, asked: Asked, outcome: AnyOutcome) -> None:
        """How the running trial ended."""

    def best(self, verdict: Verdict) -> None:
        """The best trial changed."""

    def close(self) -> None:
        """The night is over."""
