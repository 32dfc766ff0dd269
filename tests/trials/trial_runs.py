"""Run one trial on the simulated box as the night would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event

from trials import run_trial
from trials.gpus import GpuSample
from trials.marks import marked_processes
from trials.outcome import AnyOutcome, BootReport, Measurement, Stage
from trials.settings import BenchPlan, ServerPlan, Settings, TrialPlan

KIMI = "kimi-k2.5-8x-rtx-pro-6000"


class Record:
    """A recorder that remembers."""

    def __init__(self) -> None:
        self.boots: list[tuple[Sequence[str], Mapping[str, str]]] = []
        self.stages: list[Stage] = []
        self.reports: list[BootReport] = []
        self.measurements: list[Measurement] = []
        self.warnings: list[str] = []
        self.samples: list[Sequence[GpuSample]] = []

    def boot_started(self, boot: int, argv: Sequence[str], env: Mapping[str, str], pid: int) -> None:
        self.boots.append((argv, env))

    def stage(self, stage: Stage, seconds: float) -> None:
        self.stages.append(stage)

    def booted(self, report: BootReport) -> None:
        self.reports.append(report)

    def progress(self, level: int, tok_s: float) -> None: ...

    def measured(self, measurement: Measurement) -> None:
        self.measurements.append(measurement)

    def warning(self, text: str) -> None:
        self.warnings.append(text)

    def gpus(self, samples: Sequence[GpuSample]) -> None:
        self.samples.append(samples)


def trial_plan(
    folder: Path,
    *,
    box: str = KIMI,
    env: Mapping[str, str] | None = None,
    bench: BenchPlan | None = None,
    **more: object,
) -> TrialPlan:
    server = ServerPlan(
        box=box,
        model_path="moonshotai/Kimi-K2.5",
        draft_model_path="lightseekorg/kimi-k2.5-eagle3",
        args=("--trust-remote-code",),
        env=dict(env or {}),
        boot_timeout_s=60,
    )
    folder.mkdir(parents=True, exist_ok=True)
    return TrialPlan(
        server=server,
        bench=bench or BenchPlan(levels=(1,), output_tokens=96, max_seconds_per_level=2.5),
        folder=folder / "trial",
        workspace=folder,
        cache=folder / "cache",
        mark=f"test-{folder.name}:0",
        **more,  # type: ignore[arg-type]
    )


def run_on_box(
    settings: Settings, plan: TrialPlan, stop: Event | None = None, hurry: Event | None = None
) -> tuple[AnyOutcome, Record]:
    """Run, and hold the trial to what every trial must leave behind: nothing."""
    record = Record()
    outcome = run_trial(settings, plan, record, stop or Event(), hurry)
    assert outcome.stop_proven, outcome.left_behind
    assert marked_processes(plan.mark) == []
    return outcome, record
