"""What can happen to a night, each as one function that makes it happen now."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autotune.night.study_book import trial_folder
from tests.chaos.injected import CLOCK_STEP, MORE_PAGES
from trials.box.faults import FAULTS_VARIABLE

if TYPE_CHECKING:
    from tests.chaos.storm import Storm

_RESET = [{"kind": "connection_reset", "every": 2, "at_request": 3}]


@dataclass(frozen=True)
class Mishap:
    """One kind of bad luck.

    Attributes:
        share: Of the strikes of its group (kills, others).
    """

    name: str
    strike: Callable[[Storm], None]
    share: int


def kill_runner(storm: Storm) -> None:
    storm.runner.kill()
    storm.runner.wait()


def kill_launcher(storm: Storm) -> None:
    launchers = [process for process in storm.study.servers() if process.session == process.pid]
    if launchers:
        storm.rng.choice(launchers).send(signal.SIGKILL)


def kill_scheduler(storm: Storm) -> None:
    schedulers = [process for process in storm.study.servers() if process.session != process.pid]
    if schedulers:
        storm.rng.choice(schedulers).send(signal.SIGKILL)


def kill_dashboard(storm: Storm) -> None:
    page = storm.study.page()
    if page is not None and page.process is not None:
        page.process.send(signal.SIGKILL)


def stop_runner_for_a_while(storm: Storm) -> None:
    storm.runner.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    storm.runner.send_signal(signal.SIGCONT)


def stop_server_for_a_while(storm: Storm) -> None:
    servers = storm.study.servers()
    if servers:
        process = storm.rng.choice(servers)
        process.send(signal.SIGSTOP)
        time.sleep(1.5)
        process.send(signal.SIGCONT)


def log_on_full_disk(storm: Storm) -> None:
    """The next trial's log goes to a device that takes nothing."""
    folder = storm.study.study / trial_folder(len(storm.study.rows()))
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "server.log"
    if not log.exists():
        log.symlink_to("/dev/full")


def database_full(storm: Storm) -> None:
    kill_runner(storm)
    storm.start({MORE_PAGES: str(storm.rng.randint(1, 6))})
    storm.wait_for_end(within_s=60)


def database_locked(storm: Storm) -> None:
    connection = sqlite3.connect(storm.study.database, isolation_level=None, timeout=30)
    try:
        connection.execute("BEGIN IMMEDIATE")
        time.sleep(storm.lock_s)
        connection.execute("ROLLBACK")
    finally:
        connection.close()


def clock_step(storm: Storm) -> None:
    kill_runner(storm)
    storm.start({CLOCK_STEP: str(storm.rng.choice([-7200, -60, 60, 7200]))})
    storm.wait_for_next_trial()


def network_reset(storm: Storm) -> None:
    kill_runner(storm)
    storm.start({FAULTS_VARIABLE: json.dumps(_RESET)})
    storm.wait_for_next_trial()


KILLS = (
    Mishap("kill -9 runner", kill_runner, 9),
    Mishap("kill -9 launcher", kill_launcher, 4),
    Mishap("kill -9 scheduler", kill_scheduler, 4),
    Mishap("kill -9 dashboard", kill_dashboard, 3),
)
OTHERS = (
    Mishap("SIGSTOP runner", stop_runner_for_a_while, 3),
    Mishap("SIGSTOP server process", stop_server_for_a_while, 3),
    Mishap("log on /dev/full", log_on_full_disk, 3),
    Mishap("database full", database_full, 2),
    Mishap("database locked", database_locked, 1),
    Mishap("clock step", clock_step, 2),
    Mishap("network reset", network_reset, 2),
)
