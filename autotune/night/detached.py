"""A night that no terminal holds: ``autotune run`` in a session of its own, its words in a file."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from autotune.night.detaching import spawn_detached
from db import queries
from db.engine import open_reader
from db.errors import StudyFileError
from db.rows import RunRow
from db.studies import STUDY_FILE

RUN_LOG = "run.log"
BEGINS_WITHIN_S = 180.0
"""Asking a server which flags it has takes a minute on a cold disk, s."""
_LAST_LINES = 15


class NotBegunError(RuntimeError):
    """The runner ended, or still waits, before its study was under way.

    Attributes:
        exit_code: The runner's, None while it lives.
    """

    def __init__(self, sentence: str, exit_code: int | None) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


@dataclass(frozen=True)
class DetachedRunner:
    """A runner that was begun a moment ago.

    Attributes:
        said_before: Size of its log before it began, bytes.
        run_before: Id of the study's newest run before.
    """

    process: subprocess.Popen[bytes]
    folder: Path
    said_before: int
    run_before: int

    @property
    def log(self) -> Path:
        return self.folder / RUN_LOG

    def wait_until_begun(self) -> RunRow:
        """Wait until it holds the study and its first trial begins, or its night is over already.

        Raises:
            NotBegunError: With what it said last, if it ends before or takes too long.
        """
        deadline = time.monotonic() + BEGINS_WITHIN_S
        while time.monotonic() < deadline:
            ended = self.process.poll()
            run = newest_run(self.folder)
            if run is not None and run.id > self.run_before and _is_under_way(run):
                return run
            if ended is not None:
                raise NotBegunError(self._last_words(), ended)
            time.sleep(0.1)
        raise NotBegunError(
            f"the runner (process {self.process.pid}) has not begun within {BEGINS_WITHIN_S:.0f} s and is"
            f" left to itself; what it says stands in {self.log}",
            None,
        )

    def _last_words(self) -> str:
        with self.log.open("rb") as log:
            log.seek(self.said_before)
            lines = log.read().decode(errors="replace").strip().splitlines()
        return "\n".join(lines[-_LAST_LINES:]) or f"the runner ended without a word; see {self.log}"


def start_runner(spec_file: Path, folder: Path) -> DetachedRunner:
    """Begin a study's runner and do not wait for it.

    Args:
        folder: The study's own; made when it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / RUN_LOG
    before = newest_run(folder)
    command = [sys.executable, "-u", "-m", "autotune", "run", str(spec_file.absolute())]
    command += ["--studies", str(folder.parent.absolute()), "--no-dashboard"]
    said_before = log.stat().st_size if log.exists() else 0
    return DetachedRunner(spawn_detached(command, log), folder, said_before, before.id if before else 0)


def _is_under_way(run: RunRow) -> bool:
    """Its night was planned, which is done as a trial begins, or it has ended."""
    return run.ended_at is not None or run.boots_planned is not None or run.ends_by is not None


def newest_run(folder: Path) -> RunRow | None:
    """The newest run in a study's folder, None before the first."""
    try:
        with open_reader(folder / STUDY_FILE) as reader, reader.connect() as connection:
            runs = queries.runs(connection)
    except StudyFileError:
        return None
    return runs[-1] if runs else None
