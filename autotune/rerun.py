"""One boot outside any night: for verifying a command, and for asking what a setting is worth."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from autotune.night.plans import cache_folder
from autotune.night.stop_requests import StopRequests
from autotune.verdict import tok_s_unit
from trials import run_trial
from trials.abandoned import stop_abandoned
from trials.gpus import GpuSample
from trials.launch import box_state
from trials.outcome import (
    AnyOutcome,
    BootReport,
    EnvironmentFailed,
    Failure,
    FailureKind,
    Measurement,
    Stage,
)
from trials.probes import open_probe
from trials.settings import BenchPlan, ServerPlan, Settings, TrialPlan
from trials.stopping import stop_policy

Say = Callable[[str], None]


def boot_once(settings: Settings, server: ServerPlan, bench: BenchPlan, folder: Path, say: Say) -> AnyOutcome:
    """Boot, measure at every level, check the answers, and stop with proof.

    Servers that a killed autotune left are stopped first.

    Args:
        folder: For the server's log; made when it is not there.
        say: Told of progress, a line at a time.

    Returns:
        How it ended; Interrupted after Ctrl-C.

    Raises:
        trials.gpus.GpuProbeError: If the GPUs cannot be seen.
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
    if left := _clear(server, folder, say):
        failure = Failure(
            kind=FailureKind.ENVIRONMENT, stage=Stage.ARGUMENTS, summary=left, at_fault="environment"
        )
        return EnvironmentFailed(failure=failure)
    requests = StopRequests()
    with requests.listening():
        return run_trial(settings, plan, _Lines(say, server.simulated), requests.now, requests.hurry)


def _clear(server: ServerPlan, folder: Path, say: Say) -> str:
    """End what a killed autotune left; what of it could not be ended, else nothing."""
    with closing(open_probe(server, box_state(folder))) as probe:
        cleared = stop_abandoned(probe, stop_policy(server))
    if cleared.sentence:
        say(cleared.sentence)
    return cleared.left_behind


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
