"""A detached process: no terminal, deaf to SIGHUP, its words in a file."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from autotune.night.detaching import spawn_detached

_CHILD = """
import os, signal
print(os.getsid(0) == os.getpid(), signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, flush=True)
os.kill(os.getpid(), signal.SIGHUP)
print("still here", flush=True)
"""


def test_it_has_its_own_session_and_survives_a_hangup(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("earlier words\n")
    before = signal.getsignal(signal.SIGHUP)
    child = spawn_detached([sys.executable, "-c", _CHILD], log)
    assert child.wait(30) == 0
    assert log.read_text() == "earlier words\nTrue True\nstill here\n"
    assert signal.getsignal(signal.SIGHUP) is before
    assert os.getsid(0) != child.pid
