"""``status``, ``watch`` and ``stop`` on studies that this process passes for the runner of."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from autotune.cli.main import app
from autotune.liveness import started_s
from autotune.night.inbox_watch import InboxWatch
from autotune.night.stop_requests import StopRequests
from db import queries
from db.engine import open_reader
from db.imports import ImportedBoot, replace_imports
from tests.autotune.dashboard.sample_study import RULED_OUT, SAMPLE
from tests.db.nights import Night, completed


def autotune(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Night]:
    monkeypatch.setenv("AUTOTUNE_STUDIES", str(tmp_path))
    monkeypatch.setattr("autotune.cli.stop._LOOKS_EVERY_S", 0.0)
    night = Night(tmp_path / "sample" / "study.db", SAMPLE, pid=os.getpid(), started=started_s(os.getpid()))
    yield night
    night.close()


def test_status_says_who_runs_it_how_far_it_is_and_the_best(night: Night) -> None:
    night.journal.plan_run(boots_planned=9, ends_by=None)
    night.play(completed(90.0))
    night.begin()
    result = autotune("status")
    assert result.exit_code == 0
    assert f"run by process {os.getpid()} on " in result.stdout
    assert "SIMULATED" in result.stdout
    assert "2: 1 running, 1 worked" in result.stdout
    assert "90.0 simulated tok/s" in result.stdout
    assert "9 boots" in result.stdout


def test_status_says_what_was_saved_and_what_was_known_before(night: Night) -> None:
    night.begin(proposal={"ruled_out": [RULED_OUT, RULED_OUT]})
    boot = ImportedBoot("earlier.db", True, {"mem_fraction_static": 0.8}, 81.0)
    replace_imports(night.journal.engine, "earlier.db", [boot])
    said = autotune("status").stdout
    assert "saved   1 boot by the memory pre-flight" in said
    assert "told    earlier.db: 1 boot (1 worked, 0 failed), taken as data" in said
    told = json.loads(autotune("status", "--json").stdout)
    assert told["plan"]["boots_saved"] == 1
    assert told["imports"] == [{"source": "earlier.db", "same": True, "worked": 1, "failed": 0}]


def test_status_after_a_runners_death_tells_what_it_left_running(night: Night, tmp_path: Path) -> None:
    dead = Night(tmp_path / "dead" / "study.db", SAMPLE, pid=os.getpid(), started=0.0)
    dead.begin()
    with open_reader(dead.path) as reader, reader.connect() as connection:
        card = queries.study(connection)
    assert card is not None
    left = subprocess.Popen(["sleep", "60"], env={**os.environ, "AUTOTUNE_MARK": f"{card.uuid}:0:1"})
    try:
        said, told = autotune("status", "dead").stdout, autotune("status", "dead", "--json").stdout
    finally:
        left.kill()
        left.wait()
    assert "server  1 of its processes still run" in said
    assert "1: 1 died with the runner" in said
    assert json.loads(told)["left_running"] == 1
    assert "still run" not in autotune("status", "dead").stdout
    dead.close()


def test_status_as_json(night: Night) -> None:
    night.play(completed(90.0))
    told: dict[str, Any] = json.loads(autotune("status", "sample", "--json").stdout)
    assert told["state"] == "running"
    assert told["runner"]["pid"] == os.getpid()
    assert told["trials"]["completed"] == 1
    assert told["best"]["best"] == 0
    assert told["simulated"] is True
    assert told["page"] is None


def test_status_of_all_studies_is_a_line_each_and_names_what_is_broken(night: Night, tmp_path: Path) -> None:
    night.end()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "study.db").write_bytes(b"")
    result = autotune("status", "--all")
    assert result.exit_code == 0
    assert result.stdout.split()[:2] == ["sample", "ended"]
    assert "broken" in result.stderr


def test_no_study_at_all_is_nothing_found(tmp_path: Path) -> None:
    assert autotune("status", "--studies", tmp_path).exit_code == 3
    assert autotune("status", "--all", "--studies", tmp_path).exit_code == 3


def test_watch_tells_the_trials_and_ends_with_the_night(night: Night) -> None:
    def go_on() -> None:
        night.play(completed(95.0))
        night.journal.end_run("all 1 trials are done")

    result = _while(go_on, "watch")
    assert result.exit_code == 0
    assert "all 1 trials are done" in result.stdout
    assert "95.0 simulated tok/s" in result.stdout


def test_watch_of_a_night_that_is_over_only_says_so(night: Night) -> None:
    night.end()
    result = autotune("watch")
    assert result.exit_code == 0
    assert result.stdout.count("all 2 trials are done") == 1


def test_stop_when_nobody_runs_it_is_nothing_found_and_leaves_no_request(night: Night) -> None:
    night.end()
    result = autotune("stop")
    assert result.exit_code == 3
    assert "nobody runs sample" in result.stderr
    with night.journal.engine.connect() as connection:
        assert queries.requests(connection) == []


@pytest.mark.parametrize("option, answer", [((), "after the running trial"), (("--now",), "stopping now")])
def test_stop_waits_for_the_end_and_says_what_came_of_it(
    night: Night, option: tuple[str, ...], answer: str
) -> None:
    requests = StopRequests()
    watch = InboxWatch(night.journal, requests)

    def obey() -> None:
        watch.look()
        night.journal.end_run("stopped as asked")

    result = _while(obey, "stop", *option, after=_requested(night))
    assert result.exit_code == 0, result.output
    assert answer in result.stdout
    assert "stopped as asked" in result.stdout


def test_stop_takes_its_request_back_when_the_night_ends_by_itself(night: Night) -> None:
    result = _while(lambda: night.journal.end_run("all 2 trials are done"), "stop", after=_requested(night))
    assert result.exit_code == 0
    with night.journal.engine.connect() as connection:
        assert queries.requests(connection)[0].answer == "the run had ended by itself"


def test_no_page_was_left_running(night: Night) -> None:
    result = autotune("stop", "--page")
    assert result.exit_code == 3
    assert "no dashboard was left running" in result.stderr


def _requested(night: Night) -> Callable[[], bool]:
    def asked() -> bool:
        with night.journal.engine.connect() as connection:
            return bool(queries.requests(connection))

    return asked


def _while(work: Callable[[], None], *words: str, after: Callable[[], bool] = lambda: True) -> Result:
    """Run a command that waits, while another thread is the night."""

    def wait_and_work() -> None:
        deadline = time.monotonic() + 20
        while not after() and time.monotonic() < deadline:
            time.sleep(0.01)
        work()

    runner = threading.Thread(target=wait_and_work)
    started = threading.Timer(0.5, runner.start)
    started.start()
    try:
        return autotune(*words)
    finally:
        started.join()
        runner.join()
