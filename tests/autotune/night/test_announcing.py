"""What of a night is worth a notice, with a stand-in for the worker."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from autotune.night.session import run_night
from tests.autotune.night.listeners import Listener, listening
from tests.autotune.night.nights import (
    STUDY,
    Answer,
    Notes,
    StandIn,
    completed,
    environment_failed,
    write_study,
)
from trials.outcome import AnyOutcome
from trials.settings import Settings


@pytest.fixture(autouse=True)
def _own_cache_no_proxy(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def _night(folder: Path, listener: Listener, answer: Answer, trials: int = 3) -> Notes:
    text = f'{STUDY}\n[notify]\nwebhook = "{listener.url}?key=abc123"\n'
    spec = write_study(folder, trials=trials, text=text)
    notes = Notes()
    run_night(spec, folder / "studies/small", reporter=notes, dashboard=False, run_trial=StandIn(answer))
    return notes


def _rising(settings: Settings, call: int) -> AnyOutcome:
    return completed(80.0 + 10 * call)


def test_a_better_trial_and_the_end_are_announced_the_baseline_is_not(tmp_path: Path) -> None:
    with listening() as listener:
        _night(tmp_path, listener, _rising)
    events = [body["event"] for body in listener.bodies]
    assert events == ["new_best", "new_best", "night_over"]
    first, *_, last = listener.bodies
    assert first["text"].startswith("Trial 1 is the best: 100.0 simulated tok/s (95 % ")
    assert first["verdict"]["best"] == 1
    assert last["text"].startswith("all 3 trials are done")
    assert "Trial 2 is the best" in last["text"]


def test_a_sick_machine_is_announced(tmp_path: Path) -> None:
    with listening() as listener:
        _night(tmp_path, listener, lambda settings, call: environment_failed(), trials=9)
    assert [body["event"] for body in listener.bodies] == ["box_sick"]
    assert "no disk" in listener.bodies[0]["text"]


def test_an_error_that_ends_the_night_is_announced(tmp_path: Path) -> None:
    def breaks(settings: Settings, call: int) -> AnyOutcome:
        raise RuntimeError("gears lost")

    with listening() as listener, pytest.raises(RuntimeError):
        _night(tmp_path, listener, breaks)
    assert [body["text"] for body in listener.bodies] == ["gears lost"]


def test_a_webhook_that_is_gone_leaves_the_night_unharmed_and_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autotune.night.webhook.RETRIES_AFTER_S", (0.01,))
    notes = _night(tmp_path, Listener("http://127.0.0.1:9/hook"), _rising)
    assert len(notes.ended) == 3
    assert "the webhook at 127.0.0.1 cannot be reached (ConnectError)" in notes.notices


def test_the_webhooks_address_is_a_secret_and_not_kept(tmp_path: Path) -> None:
    with listening() as listener:
        _night(tmp_path, listener, _rising)
    with sqlite3.connect(tmp_path / "studies/small/study.db") as study:
        toml, spec = study.execute("SELECT spec_toml, spec FROM autotune_study").fetchone()
    assert "abc123" not in toml
    assert "abc123" not in spec
