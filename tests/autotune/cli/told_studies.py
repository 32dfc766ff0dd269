"""A study file with told trials, written through the same doors as a night's, for commands that read one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import optuna

from autotune.spec import StudySpec
from db.engine import open_storage
from db.journal import Journal, NewTrial, Role, StudyCard
from trials.outcome import AnyOutcome, Completed, Failure, FailureKind, Measurement, SettingsFailed, Stage

SPEC = """\
[study]
name = "night"
trials = 5
[server]
box = "kimi-k2.5-8x-rtx-pro-6000"
model_path = "org/model"
args = ["--host", "0.0.0.0", "--port", "8000"]
[space]
cuda_graph_max_bs = [128, 512]
[bench]
levels = [1, 8]
[[known_good]]
cuda_graph_max_bs = 512
"""


def completed(*tok_s: float) -> Completed:
    """Done, with one throughput for each of the levels 1 and 8."""
    levels = zip((1, 8), tok_s, strict=False)
    return Completed(measurements=tuple(_measurement(level, value) for level, value in levels))


def settings_failed() -> SettingsFailed:
    failure = Failure(
        kind=FailureKind.OOM_GRAPH_CAPTURE, stage=Stage.GRAPH_CAPTURE, summary="no room", at_fault="settings"
    )
    return SettingsFailed(failure=failure)


class ToldStudy:
    """Writes ``STUDIES/night/study.db``."""

    def __init__(self, studies: Path) -> None:
        folder = studies / "night"
        folder.mkdir(parents=True)
        file = folder / "study.toml"
        file.write_text(SPEC)
        spec = StudySpec.load(file)
        self.path = folder / "study.db"
        self._journal = Journal.open(self.path, create=True)
        self._storage = open_storage(self.path)
        self._study = optuna.create_study(storage=self._storage, study_name="night", direction="maximize")
        versions = {"autotune": "0.1.0", "sglang": "0.5.23", "driver": None}
        card = StudyCard("uuid", "night", True, SPEC, spec.plain(), versions, [{"name": "Imagined"}])
        self._journal.describe_study(card)
        self._journal.begin_run(pid=1, boot_id="b", process_started=1.0)

    def tell(self, graph_bs: int, outcome: AnyOutcome, role: Role = "search") -> None:
        trial = self._study.ask()
        trial.suggest_categorical("cuda_graph_max_bs", [128, 512])
        settings = {"cuda_graph_max_bs": graph_bs}
        self._journal.begin_trial(NewTrial(trial.number, role, settings, f"trials/{trial.number:04}"))
        recorder = self._journal.recorder(trial.number)
        recorder.boot_started(1, _argv(graph_bs), _env(), pid=1)
        recorder.close()
        self._journal.finish_trial(trial.number, outcome, main_level=1)
        if isinstance(outcome, Completed):
            self._study.tell(trial, outcome.measurements[0].decode_tok_s)
        else:
            self._study.tell(trial, state=optuna.trial.TrialState.PRUNED)

    def close(self) -> None:
        self._journal.end_run("done")
        self._storage.remove_session()
        self._storage.engine.dispose()
        self._journal.close()


def _argv(graph_bs: int) -> tuple[str, ...]:
    program = ("python", "-m", "trials.box", "kimi", "--model-path", "org/model")
    return (*program, "--cuda-graph-max-bs", str(graph_bs), "--host", "127.0.0.1", "--port", "41234")


def _env() -> Mapping[str, str]:
    return {"NCCL_X": "1 2", "AUTOTUNE_MARK": "uuid:0:1"}


def _measurement(level: int, tok_s: float) -> Measurement:
    return Measurement(
        level=level,
        running=level,
        decode_tok_s=tok_s,
        decode_tok_s_ci95=(tok_s - 1, tok_s + 1),
        requests=4,
        output_tokens=512,
        seconds=4.0,
        stopped_by="precision",
    )
