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
from trials.process_table import OsProcess

if TYPE_CHECKING:
    from tests.chaos.storm import Storm

_STOPPED_S = 1.5
_RESET = [{"kind": "connection_reset", "every": 2, "at_request": 3}]


@dataclass(frozen=True)
class Mishap:
    """One kind of bad luck.

    Attributes:
        strike: Makes it happen; False where there was nothing to hit.
        share: Of the strikes of its group (kills, others).
    """

    name: str
    strike: Callable[[Storm], bool]
    share: int


def kill_runner(storm: Storm) -> bool:
    was_alive = storm.runner.poll() is None
    storm.runner.kill()
    storm.runner.wait()
    return was_alive


def kill_launcher(storm: Storm) -> bool:
    return _signal_one(storm, _launchers, signal.SIGKILL)


def kill_scheduler(storm: Storm) -> bool:
    return _signal_one(storm, _schedulers, signal.SIGKILL)


def kill_dashboard(storm: Storm) -> bool:
    """The page of the running night; a new night begins where an earlier strike has taken it."""
    if _page(storm) is None:
        kill_runner(storm)
        storm.start()
    if not storm.wait_until(lambda: _page(storm)):
        return False
    page = _page(storm)
    return page is not None and _send(page, signal.SIGKILL)


def stop_runner_for_a_while(storm: Storm) -> bool:
    storm.runner.send_signal(signal.SIGSTOP)
    time.sleep(_STOPPED_S)
    storm.runner.send_signal(signal.SIGCONT)
    return storm.runner.poll() is None


def stop_server_for_a_while(storm: Storm) -> bool:
    if not storm.wait_until(storm.study.servers) or not (servers := storm.study.servers()):
        return False
    process = storm.rng.choice(servers)
    process.send(signal.SIGSTOP)
    time.sleep(_STOPPED_S)
    return _send(process, signal.SIGCONT)


def log_on_full_disk(storm: Storm) -> bool:
    """The next trial's log goes to a device that takes nothing."""
    folder = storm.study.study / trial_folder(len(storm.study.rows()))
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "server.log"
    if log.exists():
        return False
    log.symlink_to("/dev/full")
    return True


def database_full(storm: Storm) -> bool:
    """A runner whose database may hardly grow: it must end by itself, with the code for a failed night."""
    kill_runner(storm)
    storm.start({MORE_PAGES: str(storm.rng.randint(1, 6))})
    storm.wait_for_end(within_s=60)
    return True


def database_locked(storm: Storm) -> bool:
    connection = sqlite3.connect(storm.study.database, isolation_level=None, timeout=30)
    try:
        connection.execute("BEGIN IMMEDIATE")
        time.sleep(storm.lock_s)
        connection.execute("ROLLBACK")
    finally:
        connection.close()
    return True


def clock_step(storm: Storm) -> bool:
    kill_runner(storm)
    storm.start({CLOCK_STEP: str(storm.rng.choice([-7200, -60, 60, 7200]))})
    storm.wait_for_next_trial()
    return True


def network_reset(storm: Storm) -> bool:
    kill_runner(storm)
    storm.start({FAULTS_VARIABLE: json.dumps(_RESET)})
    storm.wait_for_next_trial()
    return True


def _launchers(storm: Storm) -> list[OsProcess]:
    return [process for process in storm.study.servers() if process.session == process.pid]


def _schedulers(storm: Storm) -> list[OsProcess]:
    return [process for process in storm.study.servers() if process.session != process.pid]


def _page(storm: Storm) -> OsProcess | None:
    page = storm.study.page()
    return page.process if page else None


def _signal_one(storm: Storm, find: Callable[[Storm], list[OsProcess]], number: signal.Signals) -> bool:
    """Signal one of them at random as soon as there is one."""
    if not storm.wait_until(lambda: find(storm)):
        return False
    found = find(storm)
    return bool(found) and _send(storm.rng.choice(found), number)


def _send(process: OsProcess, number: signal.Signals) -> bool:
    process.send(number)
    return True


KILLS = (
    Mishap("kill -9 runner", kill_runner, 8),
    Mishap("kill -9 launcher", kill_launcher, 5),
    Mishap("kill -9 scheduler", kill_scheduler, 5),
    Mishap("kill -9 dashboard", kill_dashboard, 2),
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
