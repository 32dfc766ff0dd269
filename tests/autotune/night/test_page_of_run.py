"""The dashboard beside a night: it comes up, ends with its run, and a dead runner's is taken over."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.night import page
from autotune.night.lasting_page import (
    RUN_RECORD,
    end_lasting_page,
    lasting_page,
    open_lasting_page,
    page_of_run,
)
from autotune.night.page import PageError, free_port
from autotune.spec import DashboardSection

_HOST = "127.0.0.1"


@contextlib.contextmanager
def _taken() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.socket() as listener:
        listener.bind((_HOST, 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "studies" / "small"
    folder.mkdir(parents=True)
    yield folder
    end_lasting_page(folder, RUN_RECORD)


def _free() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])


def test_a_taken_port_gives_way_to_the_next_free_one() -> None:
    with _taken() as port:
        assert port < free_port(_HOST, port) <= port + 20


def test_no_free_port_is_said_with_the_key_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_TRIED_PORTS", 1)
    with _taken() as port, pytest.raises(PageError, match=r"set \[dashboard\] port"):
        free_port(_HOST, port)


def test_nobody_answers_where_nobody_listens() -> None:
    assert not page.answers(f"http://{_HOST}:{_free()}")


@pytest.mark.slow
def test_the_page_is_up_while_its_run_lasts(study: Path) -> None:
    with page_of_run(study, DashboardSection(port=_free())) as url:
        assert page.answers(url.split("/studies/")[0])
        noted = lasting_page(study, RUN_RECORD)
        assert noted is not None
        assert noted.url == url
    assert noted.process is None
    assert not page.answers(url.split("/studies/")[0])
    assert not (study / RUN_RECORD).exists()


@pytest.mark.slow
def test_a_dead_runners_page_is_taken_over(study: Path) -> None:
    where = DashboardSection(port=_free())
    left = open_lasting_page(study, where, RUN_RECORD)
    with page_of_run(study, where) as url:
        assert url == left.url
        assert lasting_page(study, RUN_RECORD) == left
    assert left.process is None


@pytest.mark.slow
def test_a_page_that_died_is_put_up_anew(study: Path) -> None:
    where = DashboardSection(port=_free())
    left = open_lasting_page(study, where, RUN_RECORD)
    os.kill(left.pid, signal.SIGKILL)
    with page_of_run(study, where):
        now = lasting_page(study, RUN_RECORD)
        assert now is not None
        assert now.pid != left.pid


@pytest.mark.slow
def test_a_page_that_cannot_start_leaves_nothing(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page.sys, "executable", "/bin/false")
    with (
        pytest.raises(PageError, match="ended with code 1"),
        page_of_run(study, DashboardSection(port=_free())),
    ):
        pass
    assert lasting_page(study, RUN_RECORD) is None


def test_a_disk_that_takes_no_note_costs_the_page_and_not_the_night(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(pid: int, url: str) -> None:
        raise OSError(28, "No space left on device")

    begun: list[list[str]] = []

    def spawn(command: list[str], log: Path, env: object) -> subprocess.Popen[bytes]:
        begun.append(command)
        return subprocess.Popen(["sleep", "60"])

    monkeypatch.setattr(page, "spawn_detached", spawn)
    with pytest.raises(PageError, match="No space left on device"):
        page.put_up(study, DashboardSection(port=_free()), full)
    assert len(begun) == 1


def test_a_log_that_cannot_be_opened_costs_the_page_and_not_the_night(study: Path) -> None:
    (study / "dashboard.log").mkdir()
    with pytest.raises(PageError, match="could not be started"):
        page.put_up(study, DashboardSection(port=_free()), lambda pid, url: None)
