"""One runner writes while pages read and people put requests in."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from db import inbox, queries
from db.engine import open_reader
from tests.db.nights import Night, completed
from trials.outcome import Stage

TRIALS = 10
STAGES = 20
REQUESTS = 5

_REQUESTER = """
import sys
from pathlib import Path
from db import inbox
for _ in range(int(sys.argv[2])):
    inbox.add_note(Path(sys.argv[1]), "from another process")
"""


def _read_until(path: Path, done: Event) -> int:
    """Read like a page does; the number of told trials may only grow."""
    most = 0
    with open_reader(path) as reader, reader.connect() as connection:
        while not done.is_set():
            told = sum(row.is_told for row in queries.trials(connection))
            assert told >= most
            most = told
    return most


@pytest.mark.slow
def test_readers_and_requests_never_disturb_the_runner(night: Night) -> None:
    done = Event()
    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(_read_until, night.path, done) for _ in range(3)]
        requester = subprocess.Popen([sys.executable, "-c", _REQUESTER, str(night.path), str(REQUESTS)])
        try:
            for _ in range(TRIALS):
                trial = night.begin()
                with night.journal.recorder(trial.number) as recorder:
                    for second in range(STAGES):
                        recorder.stage(Stage.MEASURE, second)
                night.finish(trial, completed(82.0))
        finally:
            done.set()
        assert requester.wait(60) == 0
        assert all(reader.result(30) <= TRIALS for reader in readers)
    with open_reader(night.path) as reader, reader.connect() as connection:
        assert [row.state for row in queries.trials(connection)] == ["COMPLETE"] * TRIALS
        assert all(len(queries.stages(connection, number)) == STAGES for number in range(TRIALS))
        assert len(queries.notes(connection)) == REQUESTS
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
    assert inbox.waiting(night.journal.engine) == []
