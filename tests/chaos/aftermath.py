"""What must be true after a storm, and the numbers of it."""

from __future__ import annotations

import socket
import sqlite3
from collections import Counter
from contextlib import closing

import optuna

from autotune.search import SearchSpace
from autotune.study_view import StudyReading
from autotune.trial_view import TrialView, view
from autotune.verdict import decide
from db import queries
from db.engine import open_reader, open_storage
from db.rows import TrialRow
from tests.chaos.chaos_study import BOX, NAME, ChaosStudy
from tests.chaos.storm import Storm
from trials.box.probe import BoxProbe
from trials.settings import Limits

_STATES = {
    "completed": "COMPLETE",
    "stopped": "PRUNED",
    "settings_failed": "PRUNED",
    "environment_failed": "FAIL",
    "interrupted": "FAIL",
}


def wrongs(storm: Storm) -> list[str]:
    """Everything that is not as it must be, one sentence each."""
    study = storm.study
    rows = study.rows()
    return [
        *storm.changed,
        *_lost_or_doubled(rows),
        *_file(study),
        *_left_behind(study),
        *_logs(study, rows),
        *_verdict(study, storm),
        *_errors(storm),
        *(
            f"trial {row.number}: its settings are blamed: {row.failure_summary}"
            for row in _blamed(storm, rows)
        ),
    ]


def numbers(storm: Storm, seconds: float) -> list[tuple[str, object]]:
    """The storm in figures, for a table."""
    rows = storm.study.rows()
    outcomes = Counter(row.outcome for row in rows)
    deaths = Counter(trial.death for trial in _views(storm.study) if trial.death)
    return [
        *sorted(storm.struck.items()),
        ("strikes", sum(storm.struck.values())),
        ("strikes that found nothing to hit", sum(storm.missed.values())),
        ("runners started", storm.starts),
        ("runners that ended by themselves, by exit code", dict(storm.exits)),
        ("trials", len(rows)),
        *((f"trials {word}", count) for word, count in sorted(outcomes.items(), key=str)),
        ("trials that died with a runner", dict(deaths)),
        ("told trials watched", len(storm.told)),
        ("seconds", round(seconds)),
    ]


def _lost_or_doubled(rows: list[TrialRow]) -> list[str]:
    found = []
    for row in rows:
        if row.outcome is None and row.settings is not None:
            found.append(f"trial {row.number} has no outcome")
        elif row.outcome is not None and _STATES[row.outcome] != row.state:
            found.append(f"trial {row.number} is {row.outcome} here and {row.state} to Optuna")
        elif not row.is_told:
            found.append(f"trial {row.number} still runs")
    if [row.number for row in rows] != list(range(len(rows))):
        found.append("trial numbers have gaps")
    asked = [
        str(sorted((row.settings or {}).items()))
        for row in rows
        if row.outcome == "completed" and row.role == "search" and row.replicate_of is None
    ]
    found += [f"counted {count} times: {one}" for one, count in Counter(asked).items() if count > 1]
    return found


def _file(study: ChaosStudy) -> list[str]:
    with closing(sqlite3.connect(study.database)) as connection:
        checks = {
            "integrity_check": connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)],
            "foreign_key_check": connection.execute("PRAGMA foreign_key_check").fetchall() != [],
        }
    return [f"{name} found something" for name, broken in checks.items() if broken]


def _left_behind(study: ChaosStudy) -> list[str]:
    found = [f"still alive: {process}" for process in study.processes()]
    found += [f"still open: port {port}" for port in study.used_ports() if _listens(port)]
    holdings = BoxProbe(BOX, study.study / "box").processes()
    return found + [f"GPU {held.index} holds {held.used_mib} MiB of pid {held.pid}" for held in holdings]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _logs(study: ChaosStudy, rows: list[TrialRow]) -> list[str]:
    return [
        f"{log.relative_to(study.study)} was not compressed"
        for row in rows
        for log in (study.study / row.folder).glob("server*.log")
        if row.folder and log.is_file()
    ]


def _errors(storm: Storm) -> list[str]:
    """Runners that ended otherwise than a night may, and errors of ours that they have printed."""
    found = [f"a runner ended with code {code}" for code in storm.exits if code not in (0, 1)]
    words = ("Traceback (most recent call last)", "internal error")
    return found + [f"printed: {line}" for line in storm.study.printed.splitlines() if line.startswith(words)]


def _blamed(storm: Storm, rows: list[TrialRow]) -> list[TrialRow]:
    """Settings that were blamed for what the storm did.

    A stream that breaks while its server lives is `unknown`, and the settings' fault once the canary passed:
    of every network reset one trial may rightly say so.
    """
    blamed = [row for row in rows if row.outcome == "settings_failed"]
    unknown = [row for row in blamed if row.failure_kind == "unknown"]
    excused = unknown[: storm.struck["network reset"]]
    return [row for row in blamed if row not in excused]


def _verdict(study: ChaosStudy, storm: Storm) -> list[str]:
    """The best must be the same by Optuna's tables, by ours, and by what was seen told along the way."""
    with open_reader(study.database) as reader, reader.connect() as connection:
        ours = StudyReading().read(connection).verdict()
    theirs = decide(_views(study), 1, Limits(), simulated=True)
    seen = [told[1] for told in storm.told.values() if told[1] is not None]
    found = [] if ours == theirs else [f"two verdicts: {ours.sentence} / {theirs.sentence}"]
    best = max((trial.value or 0.0 for trial in _views(study)), default=0.0)
    return found + [f"{value} was told and is gone" for value in seen if value > best]


def _views(study: ChaosStudy) -> list[TrialView]:
    with open_reader(study.database) as reader, reader.connect() as connection:
        card = queries.study(connection)
    assert card is not None
    space = SearchSpace.from_dict(card.spec["space_table"])
    loaded = optuna.load_study(study_name=NAME, storage=open_storage(study.database))
    return [view(trial, space.canonical) for trial in loaded.trials]
