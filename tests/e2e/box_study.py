"""A small study on the simulated box, run by the real command in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial

from autotune.night.opening import STUDY_FILE
from db import queries
from db.engine import open_reader, open_storage
from db.rows import StageRow
from trials.box.faults import FAULTS_VARIABLE
from trials.marks import marked_processes

_STUDY = """
[study]
name = "{name}"
trials = {trials}
seed = 5

[server]
box = "kimi-k2.5-8x-rtx-pro-6000"
model_path = "moonshotai/Kimi-K2.5"
env = {env}
boot_timeout_s = 60

[space]
mem_fraction_static = {{ low = 0.80, high = 0.90, step = 0.02 }}
cuda_graph_max_bs = [64, 128, 256, 512]
layout = ["tp8"]
all_reduce = ["nccl", "pcie_ipc"]

[bench]
levels = {levels}
output_tokens = 64
max_seconds_per_level = 1

[finals]
boots = 0

[[known_good]]
mem_fraction_static = 0.86
cuda_graph_max_bs = 512
layout = "tp8"
all_reduce = "nccl"
"""


def small_study(name: str = "small", trials: int = 4, levels: Sequence[int] = (1,), env: str = "{}") -> str:
    """The text of a ``study.toml`` that takes seconds."""
    return _STUDY.format(name=name, trials=trials, levels=list(levels), env=env)


@dataclass(frozen=True)
class BoxStudy:
    """The study's file and where it will be."""

    folder: Path

    @classmethod
    def write(cls, folder: Path, trials: int = 4, env: str = "{}") -> BoxStudy:
        (folder / "study.toml").write_text(small_study(trials=trials, env=env))
        return cls(folder)

    @property
    def study(self) -> Path:
        return self.folder / "studies" / "small"

    @property
    def database(self) -> Path:
        return self.study / STUDY_FILE

    def start(self, *options: str, faults: Sequence[Mapping[str, Any]] = ()) -> subprocess.Popen[str]:
        """Begin ``autotune run`` and do not wait.

        Args:
            faults: Of the box while this runner lives; those of the study's ``env`` replace them.
        """
        return subprocess.Popen(
            [sys.executable, "-m", "autotune", "run", "study.toml", "--no-dashboard", *options],
            cwd=self.folder,
            env={**os.environ, FAULTS_VARIABLE: json.dumps(faults)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, faults: Sequence[Mapping[str, Any]] = (), *, exit_code: int = 0) -> str:
        """Run to the end; what it printed."""
        runner = self.start(faults=faults)
        printed, _ = runner.communicate(timeout=110)
        assert runner.returncode == exit_code, printed
        return printed

    def optuna_study(self) -> optuna.Study:
        return optuna.load_study(study_name="small", storage=open_storage(self.database))

    def trials(self) -> list[FrozenTrial]:
        return self.optuna_study().trials

    def stages(self, number: int) -> list[StageRow]:
        if not self.database.exists():
            return []
        with open_reader(self.database) as reader, reader.connect() as connection:
            return queries.stages(connection, number)

    def processes(self) -> list[int]:
        """Living processes of the study's servers."""
        with open_reader(self.database) as reader, reader.connect() as connection:
            card = queries.study(connection)
        assert card is not None
        return [process.pid for process in marked_processes(card.uuid)]

    def wait_for_stage(self, number: int, stage: str) -> None:
        """Until a trial has begun a stage."""
        wait_until(lambda: any(row.stage == stage for row in self.stages(number)))


def wait_until(true: Callable[[], bool], within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            if true():
                return
        except Exception:  # the file may be in the making
            pass
        time.sleep(0.05)
    raise AssertionError(f"did not come true within {within_s} s")


def interrupt(runner: subprocess.Popen[str]) -> None:
    runner.send_signal(signal.SIGINT)
