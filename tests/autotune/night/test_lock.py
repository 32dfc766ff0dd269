"""One study, one runner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from autotune.night.lock import RunnerLock, StudyIsRunningError, running_holder

_HOLD = """
import sys, time
from pathlib import Path
from autotune.night.lock import RunnerLock
lock = RunnerLock(Path(sys.argv[1])).acquire()
print("held", flush=True)
time.sleep(60)
"""


def test_second_runner_is_told_who_runs_it(tmp_path: Path) -> None:
    with RunnerLock(tmp_path), pytest.raises(StudyIsRunningError, match=f"process {os.getpid()} on "):
        RunnerLock(tmp_path).acquire()


def test_clean_end_leaves_no_dead_runner(tmp_path: Path) -> None:
    with RunnerLock(tmp_path):
        assert running_holder(tmp_path) is not None
    assert running_holder(tmp_path) is None
    assert RunnerLock(tmp_path).acquire().dead_runner is None


def test_killed_runner_is_taken_over_and_named(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", _HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "held"
    holder = running_holder(tmp_path)
    assert holder is not None
    assert holder.pid == child.pid
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    lock = RunnerLock(tmp_path).acquire()
    assert lock.dead_runner == holder
    lock.release()
