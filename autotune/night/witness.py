"""A running trial's reports, passed on to the study and to whoever watches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autotune.night.reporter import Reporter
from trials.gpus import GpuSample
from trials.outcome import BootReport, Measurement, Stage
from trials.recorder import Recorder


class Witness:
    """``trials.recorder.Recorder`` that tells two: the study's file and the night's reporter."""

    def __init__(self, recorder: Recorder, reporter: Reporter) -> None:
        self._recorder = recorder
        self._reporter = reporter

    def boot_started(self, boot: int, argv: Sequence[str], env: Mapping[str, str], pid: int) -> None:
        self._recorder.boot_started(boot, argv, env, pid)

    def stage(self, stage: Stage, seconds: float) -> None:
        self._recorder.stage(stage, seconds)
        self._reporter.stage(stage, seconds)

    def booted(self, report: BootReport) -> None:
        self._recorder.booted(report)

    def progress(self, level: int, tok_s: float) -> None:
        self._recorder.progress(level, tok_s)
        self._reporter.progress(level, tok_s)

    def measured(self, measurement: Measurement) -> None:
        self._recorder.measured(measurement)
        self._reporter.measured(measurement)

    def warning(self, text: str) -> None:
        self._recorder.warning(text)

    def gpus(self, samples: Sequence[GpuSample]) -> None:
        self._recorder.gpus(samples)
