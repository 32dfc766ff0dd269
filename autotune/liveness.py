"""Is anybody running the study? Judged by the runner's process, without touching the runner's lock."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import Literal

from db.rows import RunRow
from trials.host import boot_id
from trials.process_table import OsProcess, look_up

_START_TOLERANCE_S = 0.5
"""Start times go through text and back, s; no pid is used again so soon."""


@dataclass(frozen=True)
class RunState:
    """Where a study's newest run is, as a word for programs and a sentence for people."""

    word: Literal["new", "running", "ended", "died", "elsewhere"]
    sentence: str

    @property
    def goes_on(self) -> bool:
        """Somebody runs it, here or on another machine."""
        return self.word in ("running", "elsewhere")


def run_state(run: RunRow | None) -> RunState:
    """Judge the newest run of a study."""
    if run is None:
        return RunState("new", "no run has begun yet")
    if run.ended_at is not None:
        return RunState("ended", run.how or "the run ended")
    if run.host == socket.gethostname() and run.boot_id not in ("", boot_id()):
        return RunState(
            "died", f"{run.host} was restarted while it ran; the same command again goes on where it stopped"
        )
    if run.host != socket.gethostname():
        return RunState(
            "elsewhere", f"run by process {run.pid} on {run.host}, which cannot be seen from here"
        )
    if _lives(run):
        return RunState("running", f"run by process {run.pid} on {run.host}")
    return RunState(
        "died", f"its runner (process {run.pid}) died; the same command again goes on where it stopped"
    )


def _lives(run: RunRow) -> bool:
    process = look_up(run.pid)
    if process is None or process.dead:
        return False
    return abs(_start_of(process) - run.process_started) < _START_TOLERANCE_S


def started_s(pid: int) -> float:
    """When a living process began, s since the machine's boot: a clock that is set does not change it."""
    process = look_up(pid)
    return 0.0 if process is None else _start_of(process)


def _start_of(process: OsProcess) -> float:
    return process.started / os.sysconf("SC_CLK_TCK")
