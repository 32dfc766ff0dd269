"""A log that is followed: stages, silence, and the line after which the server is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from trials import log_follower
from trials.log_follower import LogFollower
from trials.log_tail import LogTail
from trials.outcome import Stage

_PREFIX = "[2026-11-29 15:03:50]"


class _Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


class _Log:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = folder / "server.log"
        self.path.touch()
        self.clock = _Clock()
        monkeypatch.setattr(log_follower, "time", self.clock)
        self.stages: list[Stage] = []
        self.follower = LogFollower(LogTail(self.path), self.stages.append)

    def says(self, text: str, after_s: float = 10.0) -> None:
        with self.path.open("a") as file:
            file.write(text)
        self.clock.now += after_s
        self.follower.poll()


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Log:
    return _Log(tmp_path, monkeypatch)


def test_stages_are_told_as_they_begin(log: _Log) -> None:
    log.says(f"{_PREFIX} server_args={{'tp_size': 1}}\n{_PREFIX} Init torch distributed begin.\n")
    log.says(f"{_PREFIX} Load weight begin. avail mem=93.52 GB\n")
    assert log.stages == [Stage.START, Stage.INIT_DISTRIBUTED, Stage.LOAD_WEIGHTS]


def test_every_byte_ends_a_silence(log: _Log) -> None:
    log.says("", after_s=30)
    assert log.follower.silent_s() == 30
    log.says("Loading safetensors:  12%")
    assert log.follower.silent_s() == 0


def test_answers_to_our_own_questions_do_not(log: _Log) -> None:
    log.says(f'{_PREFIX} INFO:     127.0.0.1:44490 - "GET /health HTTP/1.1" 503 Service Unavailable\n')
    log.says(
        f"{_PREFIX} Health check failed. Server couldn't get a response from detokenizer for last 20 s\n"
    )
    assert log.follower.silent_s() == 20
    log.says(f'{_PREFIX} INFO:     127.0.0.1:44490 - "GET /health HTTP/1.1" 503\n{_PREFIX} progress\n')
    assert log.follower.silent_s() == 0


def test_a_fatal_line_is_remembered_from_the_first(log: _Log) -> None:
    assert log.follower.lost_s() == 0
    log.says(f"{_PREFIX} Received sigquit from a child process. It usually means the child failed.\n")
    log.says(f"{_PREFIX} SIGQUIT received. signum=None, frame=None.\n", after_s=4)
    assert log.follower.lost_s() == 4
