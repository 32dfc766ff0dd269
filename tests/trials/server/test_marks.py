"""Servers of a runner that died: found by their mark and stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.trials import own_place
from trials.abandoned import stop_abandoned
from trials.boot_log.wording import STOPS_SERVER
from trials.gpus import GpuProbeError
from trials.marks import abandoned_processes, left_processes, marked_processes
from trials.no_gpus import NoGpus
from trials.owners import Owner
from trials.process_table import look_up

pytestmark = pytest.mark.slow

SLEEP = "import time; time.sleep(60)"
RUNNER = """
{settle}
import os, sys, time
from pathlib import Path
from trials.command import Command
from trials.server import ServerProcess
command = Command((sys.executable, "-S", "-c", {program!r}), {{}})
print(ServerProcess.start(command, log_path=Path({log!r}), mark={mark!r}).pid, flush=True)
time.sleep(60)
"""


def pids(prefix: str) -> list[int]:
    return [process.pid for process in marked_processes(prefix)]


def test_what_a_dead_runner_left_is_found_and_stopped(launch: Any) -> None:
    launch.daemon()
    pid = launch.daemon_pid()
    launch.wait_for(lambda: pids(launch.study) == [pid])
    assert pids(f"{launch.study}:1") == pids(f"{launch.study}:") == [pid]
    proof = launch.stop_marked(launch.study)
    assert (proof.proven, proof.exit_code, proof.left_behind) == (True, None, "")
    assert not launch.lives(pid)


def test_study_whose_name_begins_alike_is_left_alone(launch: Any) -> None:
    server = launch(SLEEP)
    assert pids(launch.study[:-1]) == pids(f"{launch.study}:11") == []
    assert launch.stop_marked(launch.study[:-1]).proven
    assert server.poll() is None


def test_one_boot_can_be_meant_alone(launch: Any) -> None:
    server = launch(SLEEP)
    launch.wait_for(lambda: pids(launch.mark) == [server.pid])


def test_unmarked_rest_of_a_marked_session_is_found(launch: Any) -> None:
    launch(
        "import os, time\nif os.fork() == 0:\n    if os.fork() == 0:\n"
        "        os.execve('/bin/sleep', ['sleep', '60'], {})\n    os._exit(0)\n"
        "os.wait(); time.sleep(60)"
    )
    launch.wait_for(lambda: any("sleep 60" in p.command for p in marked_processes(launch.study)))
    assert len(pids(launch.study)) == 2
    assert launch.stop_marked(launch.study).proven
    assert pids(launch.study) == []


def test_memory_of_unknown_level_is_waited_for_while_it_falls(launch: Any, probe: Any) -> None:
    launch.daemon()
    launch.daemon_pid()
    falling = iter(range(90_000, 10_000, -10_000))
    probe.level = lambda: next(falling, 700)
    assert launch.stop_marked(launch.study, idle={}).proven
    assert next(falling, None) is None


def test_memory_that_always_falls_is_not_waited_for_for_ever(launch: Any, probe: Any) -> None:
    falling = iter(range(1_000_000_000, 0, -1))
    probe.level = lambda: next(falling)
    assert launch.stop_marked(launch.study, idle={}, policy=launch.brief).proven


def test_cards_that_cannot_be_read_are_named(launch: Any, probe: Any) -> None:
    def gone() -> int:
        raise GpuProbeError("GPU 0 is lost")

    probe.level = gone
    proof = launch.stop_marked(launch.study, idle={})
    assert (proof.proven, "GPU 0 is lost" in proof.left_behind) == (False, True)


def test_nothing_to_stop_is_proven_at_once(launch: Any) -> None:
    assert launch.stop_marked("no-such-study").proven


@pytest.fixture
def runner(launch: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Another process that has started a server and lives; and the pid of the server."""
    settle = own_place.settle(monkeypatch, launch.folder)
    program = RUNNER.format(settle=settle, program=SLEEP, log=str(launch.log), mark=launch.mark)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
        process.kill()


def abandoned() -> list[int]:
    return [process.pid for process in abandoned_processes()]


def test_server_of_a_killed_runner_is_stopped_by_whoever_boots_next(launch: Any, runner: Any) -> None:
    process, server = runner
    assert server not in abandoned()
    assert [found.pid for found in marked_processes(launch.study)] == [server]
    assert left_processes(launch.study) == [], "its runner lives"
    assert launch.stop_marked(launch.study).proven
    assert launch.lives(server)
    process.kill()
    process.wait()
    assert [found.pid for found in left_processes(launch.study)] == [server]
    assert server in abandoned()
    cleared = stop_abandoned(NoGpus(), launch.patient)
    assert cleared.left_behind == ""
    assert "stopped" in cleared.sentence
    assert not launch.lives(server)
    assert STOPS_SERVER in launch.log.read_text(), "its study must not take that for its own end"


@pytest.mark.parametrize(
    "owner",
    [
        lambda: None,
        lambda: "nonsense",
        lambda: str(Owner.me()),
        lambda: str(Owner(1 << 30, 1, "another container")),
        lambda: str(replace(Owner.me(), pid=os.getppid(), started=parent_started())),
    ],
    ids=["older autotune", "unreadable", "this process", "out of sight", "another process"],
)
def test_server_whose_owner_may_live_is_left_alone(
    owner: Callable[[], str | None], launch: Any, tmp_path: Path
) -> None:
    named = owner()
    environment = {**os.environ, "AUTOTUNE_MARK": launch.mark, **({"AUTOTUNE_OWNER": named} if named else {})}
    with subprocess.Popen([sys.executable, "-S", "-c", SLEEP], env=environment) as server:
        launch.wait_for(lambda: server.pid in pids(launch.study))
        assert server.pid not in abandoned()
        server.kill()


def parent_started() -> int:
    parent = look_up(os.getppid())
    assert parent is not None
    return parent.started
