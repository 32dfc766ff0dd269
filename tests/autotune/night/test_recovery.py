"""After a death: what is repeated, what is told as failed, and that time and trials are counted once."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from autotune.night.clock import seconds_spent
from autotune.night.loop import NightResult
from autotune.night.session import run_night
from autotune.search import SearchSpace
from autotune.spec import StudySpec
from autotune.trial_view import view
from db.engine import open_storage
from tests.autotune.night.nights import Answer, Notes, StandIn, completed, settings_failed, write_study
from tests.trials import own_place
from trials.outcome import AnyOutcome, FailureKind
from trials.process_table import look_up
from trials.settings import Settings

pytestmark = pytest.mark.slow

_DIES_AT_ONCE = """
import os, sys
from pathlib import Path
from trials.command import Command
from trials.server import ServerProcess
command = Command((sys.executable, "-S", "-c", "import time; time.sleep(60)"), {})
print(ServerProcess.start(command, log_path=Path(sys.argv[1]), mark="verify:0:1").pid, flush=True)
os._exit(1)
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def _folder(spec: StudySpec) -> Path:
    return spec.file.parent / "studies" / spec.name


def _night(spec: StudySpec, answer: Answer) -> tuple[NightResult, list[str]]:
    notes = Notes()
    result = run_night(spec, _folder(spec), reporter=notes, dashboard=False, run_trial=StandIn(answer))
    return result, notes.notices


def _dies_in(call_that_dies: int, how: type[BaseException] = KeyboardInterrupt) -> Answer:
    def answer(settings: Settings, call: int) -> AnyOutcome:
        if call == call_that_dies:
            raise how("died")
        return completed(80.0 + call)

    return answer


def _die(spec: StudySpec, call: int, how: type[BaseException] = KeyboardInterrupt) -> list[str]:
    """One run that dies in its so-many-th trial; what it had said before."""
    notes = Notes()
    with pytest.raises(how):
        run_night(
            spec, _folder(spec), reporter=notes, dashboard=False, run_trial=StandIn(_dies_in(call, how))
        )
    return notes.notices


def _well(settings: Settings, call: int) -> AnyOutcome:
    return completed(90.0)


def _trials(spec: StudySpec) -> list[FrozenTrial]:
    return optuna.load_study(study_name=spec.name, storage=open_storage(_folder(spec) / "study.db")).trials


def _change_note(spec: StudySpec, number: int, **fields: Any) -> None:
    note = _folder(spec) / "trials" / f"{number:04d}" / "machine.json"
    note.write_text(json.dumps(json.loads(note.read_text()) | fields))


def _rebooted(spec: StudySpec, number: int) -> None:
    _change_note(spec, number, boot_id="an earlier one")


def _out_of_memory(spec: StudySpec, number: int) -> None:
    _change_note(spec, number, kernel_kills=-1, cgroup_kills=-1)


def _as_an_older_autotune_left_it(spec: StudySpec, number: int) -> None:
    """No note of the machine, and a log that points nowhere."""
    folder = _folder(spec) / "trials" / f"{number:04d}"
    (folder / "machine.json").unlink()
    (folder / "server.log").symlink_to("nowhere")


@pytest.mark.parametrize(
    ("after_death", "death", "words"),
    [
        (
            _rebooted,
            "reboot",
            "trial 1 died with the last runner when the machine went down and will be run once",
        ),
        (_out_of_memory, "out_of_memory", "when the host's memory ran out and will be run once more"),
        (_as_an_older_autotune_left_it, "killed", "trial 1 died with the last runner and will be run again"),
        (lambda spec, number: None, "killed", "trial 1 died with the last runner and will be run again"),
    ],
)
def test_a_first_death_is_named_and_repeated(
    after_death: Callable[[StudySpec, int], None], death: str, words: str, tmp_path: Path
) -> None:
    spec = write_study(tmp_path, trials=4)
    _die(spec, 2)
    after_death(spec, 1)
    _, notices = _night(spec, _well)
    dead, repeat = _trials(spec)[1:3]
    assert any(words in notice for notice in notices)
    assert dead.state is TrialState.FAIL
    assert "failure" not in dead.user_attrs
    assert dead.user_attrs["death"] == death
    assert (repeat.params, repeat.user_attrs["replicate_of"]) == (dead.params, 1)


@pytest.mark.parametrize("after_death", [_rebooted, _out_of_memory])
def test_settings_that_kill_twice_are_told_as_failed_and_left(
    after_death: Callable[[StudySpec, int], None], tmp_path: Path
) -> None:
    spec = write_study(tmp_path, trials=6)
    _die(spec, 2)
    after_death(spec, 1)
    _die(spec, 1)
    after_death(spec, 2)
    _, notices = _night(spec, _well)
    trials = _trials(spec)
    assert any("trial 2 died with the last runner and is not run again" in notice for notice in notices)
    assert trials[2].state is TrialState.PRUNED
    assert trials[2].user_attrs["failure"]["at_fault"] == "settings"
    assert [trial.number for trial in trials if trial.params == trials[1].params] == [1, 2]


def test_a_machine_that_goes_down_under_everything_is_not_the_settings_fault(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=9)
    for call, number in ((1, 0), (2, 2), (1, 3)):
        _die(spec, call)
        _rebooted(spec, number)
    _night(spec, _well)
    told = _trials(spec)[3]
    assert told.state is TrialState.FAIL
    assert told.user_attrs["failure"]["kind"] == "environment"


def test_an_error_of_ours_is_repeated_once(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=6)
    _die(spec, 2, RuntimeError)
    _die(spec, 1, RuntimeError)
    _, notices = _night(spec, _well)
    assert any("trial 2 died with the last runner and is not run again" in notice for notice in notices)
    assert [trial.user_attrs.get("death") for trial in _trials(spec)[1:3]] == ["error", "error"]


def test_a_server_that_failed_before_its_runner_died_is_told_as_that(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=4)
    _die(spec, 2)
    log = _folder(spec) / "trials/0001/server.log"
    log.write_text(
        "[2026-11-29 22:00:00 TP0] Load weight begin. avail mem=94.00 GB\n"
        "[2026-11-29 22:00:09 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
    )
    _night(spec, _well)
    dead = _trials(spec)[1]
    assert dead.state is TrialState.PRUNED
    assert dead.user_attrs["failure"]["kind"] == "kv_pool_too_small"
    assert log.with_name("server.log.gz").exists()


def test_a_dead_trial_ends_at_its_last_sign_of_life(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=3)
    _die(spec, 2)
    with sqlite3.connect(_folder(spec) / "study.db") as database:
        database.execute("UPDATE autotune_stages SET at = '2026-11-29T22:00:00.000Z' WHERE trial = 1")
        database.execute("UPDATE autotune_stages SET seconds = 7.5 WHERE trial = 1")
    _night(spec, _well)
    with sqlite3.connect(_folder(spec) / "study.db") as database:
        ended = database.execute("SELECT ended_at FROM autotune_trials WHERE number = 1").fetchone()
    assert ended == ("2026-11-29T22:00:00.000Z",)
    assert _trials(spec)[1].user_attrs["seconds"] == 7.5


def test_time_is_counted_once_over_all_runs(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=3)
    _die(spec, 2)
    _night(spec, _well)
    space: SearchSpace = spec.space
    views = [view(trial, space.canonical) for trial in _trials(spec)]
    assert seconds_spent(views) == pytest.approx(sum(trial.user_attrs["seconds"] for trial in _trials(spec)))
    assert all(trial.seconds is not None and trial.seconds < 60 for trial in views)


def test_another_version_is_named_when_the_study_goes_on(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=3)
    _die(spec, 2)
    with sqlite3.connect(_folder(spec) / "study.db") as database:
        database.execute(
            "UPDATE autotune_study SET versions = json_set(versions, '$.driver', '570.1', '$.sglang', null)"
        )
    _, notices = _night(spec, _well)
    assert any(notice.startswith("driver was 570.1 when this study ran last") for notice in notices)
    assert not any(notice.startswith("sglang") for notice in notices)


def test_a_suspect_whose_canary_died_is_not_counted_as_a_death(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=6)

    def answer(settings: Settings, call: int) -> AnyOutcome:
        if call == 3:
            raise KeyboardInterrupt
        return settings_failed(FailureKind.HANG) if call == 2 else completed(80.0)

    with pytest.raises(KeyboardInterrupt):
        run_night(spec, _folder(spec), reporter=Notes(), dashboard=False, run_trial=StandIn(answer))
    _night(spec, _well)
    suspect, canary, repeat = _trials(spec)[1:4]
    assert [suspect.state, canary.state] == [TrialState.FAIL, TrialState.FAIL]
    assert "death" not in suspect.user_attrs
    assert canary.user_attrs["death"] == "killed"
    assert repeat.user_attrs["replicate_of"] == suspect.number


def test_a_night_first_stops_what_another_killed_command_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = f"{own_place.settle(monkeypatch, tmp_path)}\n{_DIES_AT_ONCE}"
    words = [sys.executable, "-c", program, str(tmp_path / "server.log")]
    server = int(subprocess.run(words, capture_output=True, text=True, check=False).stdout)
    assert look_up(server) is not None
    result, notices = _night(write_study(tmp_path, trials=2), _well)
    assert result.exit_code == 0
    assert any("servers whose autotune had been killed" in notice for notice in notices)
    left = look_up(server)
    assert left is None or left.dead
