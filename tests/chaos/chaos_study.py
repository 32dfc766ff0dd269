"""The study that the storm hits: every setting of it boots, so that whatever fails is the storm's doing."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psutil

from autotune.night.lasting_page import RUN_RECORD, LastingPage, lasting_page
from db import queries
from db.engine import open_reader
from db.errors import StudyFileError
from db.rows import TrialRow
from trials.marks import marked_processes
from trials.process_table import OsProcess

NAME = "storm"
BOX = "kimi-k2.5-8x-rtx-pro-6000"
_NEWEST = """
SELECT number, state, (
    SELECT stage FROM autotune_stages WHERE trial = trials.number ORDER BY id DESC LIMIT 1
) FROM trials ORDER BY number DESC LIMIT 1
"""
_ROOT = Path(__file__).parents[2]
_COMMAND = (sys.executable, "-m", "tests.chaos.injected", "run")
_STUDY = """
[study]
name = "storm"
trials = {trials}
seed = {seed}
# The storm goes on, however little there is left to find.
stop_when_done = false

[server]
box = "kimi-k2.5-8x-rtx-pro-6000"
model_path = "moonshotai/Kimi-K2.5"
boot_timeout_s = 60

[space]
mem_fraction_static = {{ low = 0.80, high = 0.90, step = 0.02 }}
cuda_graph_max_bs = [64, 128, 256, 512]
max_running_requests = [48, 64, 128]
layout = ["tp8"]
all_reduce = ["nccl", "pcie_ipc"]

[bench]
levels = [1]
output_tokens = 32
max_seconds_per_level = 1

[finals]
boots = 0

[dashboard]
port = {port}

[[known_good]]
mem_fraction_static = 0.86
cuda_graph_max_bs = 512
max_running_requests = 48
layout = "tp8"
all_reduce = "nccl"
"""


@dataclass(frozen=True)
class ChaosStudy:
    """A study file and where its study will be."""

    folder: Path
    seed: int
    port: int

    @property
    def study(self) -> Path:
        return self.folder / "studies" / NAME

    @property
    def database(self) -> Path:
        return self.study / "study.db"

    @property
    def printed(self) -> str:
        """What all runners have said."""
        return (self.folder / "printed.txt").read_text(errors="replace")

    def write(self, trials: int) -> None:
        text = _STUDY.format(trials=trials, seed=self.seed, port=self.port)
        (self.folder / "study.toml").write_text(text)

    def start(self, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        with (self.folder / "printed.txt").open("ab") as printed:
            return subprocess.Popen(
                [*_COMMAND, str(self.folder / "study.toml"), "--studies", str(self.folder / "studies")],
                cwd=_ROOT,
                env={**os.environ, "PYTHONPATH": str(_ROOT), "PYTHONUNBUFFERED": "1", **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
            )

    def rows(self) -> list[TrialRow]:
        """Trials as they stand, none while there is no study yet."""
        try:
            with open_reader(self.database) as reader, reader.connect() as connection:
                return queries.trials(connection) if queries.study(connection) else []
        except StudyFileError:
            return []

    def moment(self) -> tuple[int, str]:
        """The newest trial and its newest stage: empty before its first, "over" when it is told."""
        try:
            with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=5)) as reader:
                newest = reader.execute(_NEWEST).fetchone()
        except sqlite3.OperationalError:
            return -1, ""
        if newest is None:
            return -1, ""
        number, state, stage = newest
        return number, "over" if state != "RUNNING" else stage or ""

    def uuid(self) -> str | None:
        try:
            with open_reader(self.database) as reader, reader.connect() as connection:
                card = queries.study(connection)
        except StudyFileError:
            return None
        return card.uuid if card else None

    def servers(self) -> list[OsProcess]:
        uuid = self.uuid()
        return marked_processes(uuid) if uuid else []

    def page(self) -> LastingPage | None:
        return lasting_page(self.study, RUN_RECORD)

    def processes(self) -> list[str]:
        """Everything alive that this study has started, however it was found."""
        ours = {process.pid: process.command for process in self.servers()}
        for process in psutil.process_iter(["pid", "cmdline"]):
            command = " ".join(process.info["cmdline"] or ())
            if str(self.folder) in command and process.pid != os.getpid():
                ours[process.pid] = command
        return [f"{pid} {command}" for pid, command in ours.items()]

    def used_ports(self) -> list[int]:
        book = self.study / "ports.used"
        return [int(port) for port in re.findall(r"\d+", book.read_text())] if book.exists() else []
