"""A page that outlives who put it up: kept while it answers, ended on request, and nothing else with it."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import httpx
import pytest

from autotune.night.lasting_page import (
    RECORD,
    LastingPage,
    end_lasting_page,
    lasting_page,
    open_lasting_page,
)
from autotune.spec import DashboardSection
from trials.host import boot_id
from trials.process_table import look_up


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def _noted(folder: Path, process: subprocess.Popen[bytes]) -> LastingPage:
    now = look_up(process.pid)
    assert now is not None
    page = LastingPage(process.pid, now.started, boot_id(), "http://127.0.0.1:1/studies/x")
    (folder / RECORD).write_text(json.dumps(asdict(page)))
    return page


def test_the_noted_process_is_ended_and_forgotten(tmp_path: Path, stranger: subprocess.Popen[bytes]) -> None:
    page = _noted(tmp_path, stranger)
    assert lasting_page(tmp_path) == page
    assert end_lasting_page(tmp_path) == page
    assert stranger.wait(10) != 0
    assert not (tmp_path / RECORD).exists()


@pytest.mark.parametrize("changed", [{"started": 1}, {"boot_id": "another boot"}])
def test_another_process_with_its_pid_is_never_signalled(
    tmp_path: Path, stranger: subprocess.Popen[bytes], changed: dict[str, object]
) -> None:
    page = replace(_noted(tmp_path, stranger), **changed)  # type: ignore[arg-type]  # one field of each type
    (tmp_path / RECORD).write_text(json.dumps(asdict(page)))
    assert lasting_page(tmp_path) is None
    assert end_lasting_page(tmp_path) is None
    assert stranger.poll() is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}'])
def test_a_broken_note_is_no_page(tmp_path: Path, text: str) -> None:
    (tmp_path / RECORD).write_text(text)
    assert lasting_page(tmp_path) is None


@pytest.mark.slow
def test_a_page_that_answers_is_kept_and_its_note_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "studies" / "night"
    folder.mkdir(parents=True)
    where = DashboardSection(port=18790)
    try:
        opened = open_lasting_page(folder, where)
        assert httpx.get(opened.url.split("/studies/")[0] + "/healthz", trust_env=False).is_success
        assert open_lasting_page(folder, where) == opened
        assert stat.S_IMODE((folder / RECORD).stat().st_mode) == 0o600
    finally:
        assert end_lasting_page(folder) == opened
    with pytest.raises(httpx.ConnectError):
        httpx.get(opened.url, trust_env=False)
