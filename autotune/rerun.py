"""One boot outside any night: for verifying a command, and for asking what a setting is worth."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from autotune.night.plans import cache_folder
from autotune.night.stop_requests import StopRequests
from autotune.verdict import tok_s_unit
from trials import run_trial
from trials.gpus import GpuSample
from trials.outcome import AnyOutcome, BootReport, Measurement, Stage
from trials.settings import BenchPlan, ServerPlan, Settings, TrialPlan

Say = Callable[[str], None]


def boot_once(settings: Settings, server: ServerPlan, bench: BenchPlan, folder: Path, say: Say) -> AnyOutcome:
    """Boot, measure at every level, check the answers, and stop with proof.

    Args:
        folder: For the server's log; made when it is not there.
        say: Told of progress, a line at a time.

    Returns:
        How it ended; Interrupted after Ctrl-C.
    """
    folder.mkdir(parents=True, exist_ok=True)
    plan = TrialPlan(
        server=server,
        bench=bench,
        folder=folder,
        workspace=folder,
        cache=cache_folder(),
        mark=f"{uuid.uuid4()}:0",
    )
    requests = StopRequests()
    with requests.listening():
        return run_trial(settings, plan, _Lines(say, server.simulated), requests.now, requests.hurry)


class _Lines:
    """A Recorder that keeps nothing."""

    def __init__(self, say: Say, simulated: bool) -> None:
        self._say = say
        self._unit = tok_s_unit(simulated)

    def boot_started(self, boot: int, argv: Sequence[str], env: Mapping[str, str], pid: int) -> None:
        self._say(f"boot {boot}: process {pid}")

    def stage(self, stage: Stage, seconds: float) -> None:
        self._say(f"{seconds:6.1f} s  {stage}")

    def booted(self, report: BootReport) -> None:
        """The stage says it."""

    def progress(self, level: int, tok_s: float) -> None:
        """Only results are lines."""

    def measured(self, measurement: Measurement) -> None:
        self._say(f"measured level {measurement.level}: {measurement.decode_tok_s:.1f} {self._unit}")

    def warning(self, text: str) -> None:
        self._say(f"note: {text}")

    def gpus(self, samples: Sequence[GpuSample]) -> None:
        """Nobody looks at curves here."""
