from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import replace

import psutil
import pytest

from autotune.liveness import run_state, started_s
from db.rows import RunRow

ME = RunRow(
    id=1,
    pid=os.getpid(),
    host=socket.gethostname(),
    boot_id="",
    process_started=started_s(os.getpid()),
    started_at="2026-11-29T21:00:00.000Z",
    boots_planned=None,
    ends_by=None,
    ended_at=None,
    how=None,
)


@pytest.mark.parametrize(
    "run, word",
    [
        (None, "new"),
        (ME, "running"),
        (replace(ME, process_started=ME.process_started - 100), "died"),
        (replace(ME, pid=2**22 + 1), "died"),
        (replace(ME, boot_id="another boot"), "died"),
        (replace(ME, host="another host"), "elsewhere"),
        (replace(ME, ended_at="2026-11-30T06:00:00.000Z", how="all 25 trials are done"), "ended"),
    ],
)
def test_the_newest_run_is_judged(run: RunRow | None, word: str) -> None:
    assert run_state(run).word == word


def test_a_zombie_runs_nothing() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    process = psutil.Process(child.pid)
    started = started_s(child.pid)
    while process.status() != psutil.STATUS_ZOMBIE:
        pass
    assert run_state(replace(ME, pid=child.pid, process_started=started)).word == "died"
    child.wait()


def test_how_a_run_ended_is_its_sentence() -> None:
    ended = replace(ME, ended_at="2026-11-30T06:00:00.000Z", how="all 25 trials are done")
    assert run_state(ended).sentence == "all 25 trials are done"
