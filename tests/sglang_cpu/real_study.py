"""Run a whole study on the real SGLang, and read what came of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import optuna
from optuna.trial import FrozenTrial

from db import queries
from db.engine import open_reader, open_storage
from tests.sglang_cpu.environment import SglangCpu

_TABLES = """
[study]
name = "{name}"
trials = {trials}
seed = 1

[server]
command = {command}
model_path = "{model}"
args = {args}
env = {env}
boot_timeout_s = 400

[speculation]
draft_model_path = "{draft}"

[bench]
prompts = "{prompts}"
levels = [1]
output_tokens = 128
max_seconds_per_level = 6
stop_hopeless = false

[finals]
boots = 0
"""


@dataclass(frozen=True)
class RealStudy:
    """A study that has run, in a folder of its own."""

    folder: Path
    name: str

    @property
    def database(self) -> Path:
        return self.folder / "studies" / self.name / "study.db"

    @property
    def trials(self) -> list[FrozenTrial]:
        return optuna.load_study(study_name=self.name, storage=open_storage(self.database)).trials

    @property
    def uuid(self) -> str:
        with open_reader(self.database) as reader, reader.connect() as connection:
            card = queries.study(connection)
        assert card is not None
        return card.uuid


def run_study(
    folder: Path,
    sglang: SglangCpu,
    *,
    name: str,
    trials: int,
    args: Sequence[str],
    space: str,
    timeout_s: float,
    prompts: str = "builtin",
) -> RealStudy:
    """Tune tiny-copy, whose draft predicts every token, over ``space`` (tables of a study file)."""
    env = ", ".join(f"{variable} = {json.dumps(value)}" for variable, value in sglang.env.items())
    tables = _TABLES.format(
        name=name,
        prompts=prompts,
        trials=trials,
        command=json.dumps(list(sglang.command)),
        model=sglang.model("tiny-copy"),
        draft=sglang.model("tiny-copy-eagle3"),
        args=json.dumps(list(args)),
        env="{ " + env + " }",
    )
    file = folder / "study.toml"
    file.write_text(tables + space)
    autotune(folder, "run", str(file), "--no-dashboard", timeout_s=timeout_s)
    return RealStudy(folder, name)


def autotune(folder: Path, *words: str, timeout_s: float = 120) -> str:
    """What the command prints.

    Raises:
        AssertionError: If it does not end with exit code 0.
    """
    command = [sys.executable, "-m", "autotune", *words]
    answer = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout
