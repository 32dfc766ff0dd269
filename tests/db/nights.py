"""A study as the night leaves it, built through the same doors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna

from db.engine import open_storage
from db.journal import Journal, NewTrial, Role, StudyCard
from trials.outcome import (
    AnyOutcome,
    BootReport,
    Completed,
    Failure,
    FailureKind,
    Measurement,
    SettingsFailed,
    Stage,
)
from trials.settings import Settings

CARD = StudyCard(
    uuid="0b7c2f5e-0000-4000-8000-000000000001",
    name="night",
    simulated=True,
    spec_toml='[study]\nname = "night"\n',
    spec={
        "bench": {"levels": [1], "main_level": 1},
        "limits": {},
        "space_table": {"mem_fraction_static": {"low": 0.7, "high": 0.94, "step": 0.01}},
    },
    versions={"autotune": "0.1.0", "sglang": "0.5.23", "driver": None},
    gpus=[{"index": 0, "name": "Imagined", "memory_mib": 97887}],
)


def completed(tok_s: float) -> Completed:
    measurement = Measurement(
        level=1,
        running=1,
        decode_tok_s=tok_s,
        decode_tok_s_ci95=(tok_s - 1, tok_s + 1),
        requests=4,
        output_tokens=2048,
        seconds=20.0,
        stopped_by="precision",
    )
    return Completed(boot=BootReport(kv_tokens=300_000, boot_s=90.0), measurements=(measurement,))


def settings_failed() -> SettingsFailed:
    failure = Failure(
        kind=FailureKind.OOM_GRAPH_CAPTURE,
        stage=Stage.GRAPH_CAPTURE,
        summary="out of memory while capturing graphs",
        evidence=("CUDA out of memory",),
        at_fault="settings",
    )
    return SettingsFailed(failure=failure)


class Night:
    """A runner that boots nothing."""

    def __init__(self, path: Path, card: StudyCard = CARD, pid: int = 4711, started: float = 1.0) -> None:
        self.path = path
        self.journal = Journal.open(path, create=True)
        self.storage = open_storage(path)
        self.study = optuna.create_study(storage=self.storage, study_name=card.name, direction="maximize")
        self.journal.describe_study(card)
        self.journal.begin_run(pid=pid, boot_id="", process_started=started)

    def begin(
        self,
        fraction: float = 0.88,
        *,
        role: Role = "search",
        other_settings: Settings | None = None,
        proposal: dict[str, Any] | None = None,
    ) -> optuna.Trial:
        trial = self.study.ask()
        trial.suggest_float("mem_fraction_static", fraction, fraction)
        settings = {"mem_fraction_static": fraction, **(other_settings or {})}
        folder = f"trials/{trial.number:04}"
        self.journal.begin_trial(NewTrial(trial.number, role, settings, folder, proposal=proposal))
        return trial

    def finish(self, trial: optuna.Trial, outcome: AnyOutcome) -> None:
        self.journal.finish_trial(trial.number, outcome, main_level=1)
        if isinstance(outcome, Completed):
            self.study.tell(trial, outcome.measurements[0].decode_tok_s)
        else:
            self.study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        self.journal.checkpoint()

    def play(self, outcome: AnyOutcome) -> int:
        trial = self.begin()
        self.finish(trial, outcome)
        return trial.number

    def end(self) -> None:
        self.journal.end_run("all 2 trials are done")
        self.close()

    def close(self) -> None:
        self.storage.remove_session()
        self.storage.engine.dispose()
        self.journal.close()


_RENAME = """
import sys
from pathlib import Path
from db.engine import open_writer, transaction
engine = open_writer(Path(sys.argv[1]))
with transaction(engine) as connection:
    connection.exec_driver_sql("UPDATE autotune_study SET name = ?", (sys.argv[2],))
engine.dispose()
"""


def another_process_renames(path: Path, name: str) -> None:
    """Write to a study from outside: locks are held by processes, not by connections."""
    subprocess.run([sys.executable, "-c", _RENAME, str(path), name], check=True, timeout=60)
