"""Is anybody running the study? Judged by the runner's process, without touching the runner's lock."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from db.rows import RunRow

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_START_TOLERANCE_S = 2.0
"""Two readings of one process's start time differ by rounding and clock steps, s."""


@dataclass(frozen=True)
class RunState:
    """Where a study's newest run is, as a word for programs and a sentence for people."""

    word: Literal["new", "running", "ended", "died", "elsewhere"]
    sentence: str


def run_state(run: RunRow | None) -> RunState:
    """Judge the newest run of a study."""
    if run is None:
        return RunState("new", "no run has begun yet")
    if run.ended_at is not None:
        return RunState("ended", run.how or "the run ended")
    if run.host != socket.gethostname() or run.boot_id not in ("", boot_id()):
        return RunState(
            "elsewhere", f"run by process {run.pid} on {run.host}, which cannot be seen from here"
        )
    if _lives(run):
        return RunState("running", f"run by process {run.pid} on {run.host}")
    return RunState(
        "died", f"its runner (process {run.pid}) died; the same command again goes on where it stopped"
    )


def _lives(run: RunRow) -> bool:
    try:
        process = psutil.Process(run.pid)
        same = abs(process.create_time() - run.process_started) < _START_TOLERANCE_S
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def boot_id() -> str:
    """A name for the time since this machine was started, empty where it has none."""
    return _BOOT_ID.read_text(encoding="ascii").strip() if _BOOT_ID.exists() else ""
