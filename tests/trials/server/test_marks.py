"""Servers of a runner that died: found by their mark and stopped."""

from __future__ import annotations

from typing import Any

import pytest

from trials.gpus import GpuProbeError
from trials.marks import marked_processes

pytestmark = pytest.mark.slow

SLEEP = "import time; time.sleep(60)"


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
