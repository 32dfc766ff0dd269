"""Processes that live on when the terminal that began them is gone."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


def spawn_detached(
    command: Sequence[str], log: Path, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, without a terminal, its words appended to ``log``.

    It also ignores SIGHUP, which some shells send to all that they know when they log out.

    Args:
        env: Its environment; left out, ours.
    """
    with log.open("ab") as words, _hangups_ignored():
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=words, stderr=words, env=env, start_new_session=True
        )


@contextmanager
def _hangups_ignored() -> Iterator[None]:
    """A child inherits what is ignored; only the main thread may change that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
