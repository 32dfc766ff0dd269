"""A night without servers: a study file, a stand-in for the worker, and a reporter that remembers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from autotune.night.asking import Asked
from autotune.spec import StudySpec
from autotune.verdict import Verdict
from trials.outcome import (
    AnyOutcome,
    Completed,
    EnvironmentFailed,
    Failure,
    FailureKind,
    Interrupted,
    Measurement,
    SettingsFailed,
    Stage,
)
from trials.recorder import Recorder, StopSignal
from trials.settings import Settings, TrialPlan

STUDY = """
[study]
name = "small"
trials = {trials}
seed = 3

[server]
box = "kimi-k2.5-8x-rtx-pro-6000"
model_path = "some/model"

[space]
mem_fraction_static = [0.7, 0.8, 0.9]
cuda_graph_max_bs = [64, 128]

[bench]
levels = [1]
output_tokens = 16
max_seconds_per_level = 1

[finals]
boots = {finals}

[[known_good]]
mem_fraction_static = 0.8
cuda_graph_max_bs = 128
"""

Answer = Callable[[Settings, int], AnyOutcome]


def write_study(folder: Path, trials: int = 6, text: str = STUDY, finals: int = 0) -> StudySpec:
    file = folder / "study.toml"
    file.write_text(text.format(trials=trials, finals=finals))
    return StudySpec.load(file)


def completed(tok_s: float) -> Completed:
    measurement = Measurement(
        level=1,
        running=1,
        decode_tok_s=tok_s,
        decode_tok_s_ci95=(tok_s - 1, tok_s + 1),
        requests=2,
        output_tokens=64,
        seconds=1.0,
        stopped_by="time",
    )
    return Completed(measurements=(measurement,))


def settings_failed(kind: FailureKind = FailureKind.OOM_KV_POOL) -> SettingsFailed:
    failure = Failure(kind=kind, stage=Stage.KV_POOL, summary=f"a {kind}", at_fault="settings")
    return SettingsFailed(failure=failure)


def environment_failed() -> EnvironmentFailed:
    failure = Failure(
        kind=FailureKind.ENVIRONMENT, stage=Stage.START, summary="no disk", at_fault="environment"
    )
    return EnvironmentFailed(failure=failure)


class StandIn:
    """``run_trial`` that asks a function for the outcome.

    Attributes:
        asked: The settings of every call, in order.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.asked: list[Settings] = []

    def __call__(
        self,
        settings: Settings,
        plan: TrialPlan,
        recorder: Recorder,
        stop: StopSignal,
        hurry: StopSignal | None = None,
    ) -> AnyOutcome:
        self.asked.append(settings)
        recorder.stage(Stage.START, 0.0)
        return Interrupted() if stop.is_set() else self._answer(settings, len(self.asked))


class Notes:
    """A reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.ended: list[tuple[Asked, AnyOutcome]] = []
        self.bests: list[Verdict] = []

    def page(self, url: str) -> None:
        self.notices.append(url)

    def notice(self, sentence: str) -> None:
        self.notices.append(sentence)

    def trial_started(self, *_: Any) -> None: ...

    def stage(self, *_: Any) -> None: ...

    def progress(self, *_: Any) -> None: ...

    def measured(self, *_: Any) -> None: ...

    def trial_ended(self, asked: Asked, outcome: AnyOutcome) -> None:
        self.ended.append((asked, outcome))

    def best(self, verdict: Verdict) -> None:
        self.bests.append(verdict)

    def close(self) -> None: ...
