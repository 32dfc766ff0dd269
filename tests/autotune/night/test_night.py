"""A whole night with a stand-in for the worker: order, states, canaries, repeats, resumption."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from autotune.night.disk_room import DiskRoom
from autotune.night.loop import NightResult
from autotune.night.session import run_night
from autotune.spec import StudySpec
from autotune.spec_problems import SpecError
from db import inbox
from db.engine import open_storage
from db.errors import StudyFileError
from db.journal import Journal
from tests.autotune.night.nights import (
    STUDY,
    Answer,
    Notes,
    StandIn,
    completed,
    environment_failed,
    settings_failed,
    write_study,
)
from trials.outcome import AnyOutcome, FailureKind
from trials.settings import Settings


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def _night(spec: StudySpec, answer: Answer, notes: Notes | None = None) -> tuple[NightResult, StandIn]:
    stand_in = StandIn(answer)
    folder = spec.file.parent / "studies" / spec.name
    result = run_night(spec, folder, reporter=notes or Notes(), dashboard=False, run_trial=stand_in)
    return result, stand_in


def _trials(spec: StudySpec) -> list[FrozenTrial]:
    path = spec.file.parent / "studies" / spec.name / "study.db"
    return optuna.load_study(study_name=spec.name, storage=open_storage(path)).trials


def _by_fraction(settings: Settings, call: int) -> AnyOutcome:
    fraction = settings["mem_fraction_static"]
    return settings_failed() if fraction == 0.9 else completed(100.0 * float(fraction))


def test_baseline_first_then_the_space_without_repeats(tmp_path: Path) -> None:
    spec = write_study(tmp_path)
    result, stand_in = _night(spec, _by_fraction)
    assert result.exit_code == 0
    assert stand_in.asked[0] == {"mem_fraction_static": 0.8, "cuda_graph_max_bs": 128}
    assert len({tuple(sorted(settings.items())) for settings in stand_in.asked}) == len(stand_in.asked)
    trials = _trials(spec)
    assert trials[0].user_attrs["role"] == "baseline"
    ran = [trial for trial in trials if trial.params]
    assert {trial.user_attrs["role"] for trial in ran[1:]} == {"search"}
    assert all(trial.user_attrs["simulated"] for trial in ran)
    failed = [trial for trial in ran if trial.params["mem_fraction_static"] == 0.9]
    assert failed
    assert all(trial.state is TrialState.PRUNED for trial in failed)
    assert all(trial.user_attrs["failure"]["kind"] == "oom_kv_pool" for trial in failed)


def test_used_up_space_ends_the_night_with_a_sentence(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=50)
    result, stand_in = _night(spec, lambda settings, call: completed(80.0))
    assert result.exit_code == 0
    assert len(stand_in.asked) == 6
    assert "space" in result.sentence
    assert all(trial.state.is_finished() for trial in _trials(spec))


def test_unknown_failure_waits_for_its_canary(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=4)

    def answer(settings: Settings, call: int) -> AnyOutcome:
        return settings_failed(FailureKind.UNKNOWN) if call == 2 else completed(80.0)

    _night(spec, answer)
    suspect, canary = _trials(spec)[1:3]
    assert canary.user_attrs["role"] == "canary"
    assert canary.user_attrs["replicate_of"] == 0
    assert canary.state is TrialState.COMPLETE
    assert suspect.state is TrialState.PRUNED
    assert suspect.user_attrs["failure"]["at_fault"] == "settings"


def test_failed_canary_ends_the_night_and_names_the_suspects(tmp_path: Path) -> None:
    spec = write_study(tmp_path)

    def answer(settings: Settings, call: int) -> AnyOutcome:
        return completed(80.0) if call == 1 else settings_failed(FailureKind.HANG)

    result, _ = _night(spec, answer)
    trials = _trials(spec)
    assert result.exit_code == 1
    assert "sick" in result.sentence
    assert [trial.state for trial in trials] == [TrialState.COMPLETE, TrialState.FAIL, TrialState.FAIL]
    path = spec.file.parent / "studies" / spec.name / "study.db"
    study = optuna.load_study(study_name=spec.name, storage=open_storage(path))
    assert study.user_attrs["suspects"] == [1]


def test_environment_failure_is_repeated_once(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=6)

    def answer(settings: Settings, call: int) -> AnyOutcome:
        return environment_failed() if call == 2 else completed(80.0)

    _night(spec, answer)
    first, repeat = _trials(spec)[1:3]
    assert first.state is TrialState.FAIL
    assert repeat.user_attrs["replicate_of"] == first.number
    assert repeat.params == first.params
    assert repeat.state is TrialState.COMPLETE


def test_unproven_stop_ends_the_night(tmp_path: Path) -> None:
    spec = write_study(tmp_path)
    left = completed(80.0).model_copy(update={"stop_proven": False, "left_behind": "GPU 3 holds 40 GiB"})
    result, stand_in = _night(spec, lambda settings, call: left)
    assert result.exit_code == 1
    assert result.sentence == "GPU 3 holds 40 GiB"
    assert len(stand_in.asked) == 1


def test_death_in_a_trial_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    spec = write_study(tmp_path)

    def dies(settings: Settings, call: int) -> AnyOutcome:
        if call == 3:
            raise KeyboardInterrupt
        return completed(80.0 + call)

    with pytest.raises(KeyboardInterrupt):
        _night(spec, dies)
    notes = Notes()
    _night(spec, lambda settings, call: completed(90.0), notes)
    trials = _trials(spec)
    assert any("trial 2 died with the last runner" in notice for notice in notes.notices)
    assert trials[2].state is TrialState.FAIL
    assert trials[3].params == trials[2].params
    assert trials[3].user_attrs["replicate_of"] == 2
    told = [tuple(sorted(t.params.items())) for t in trials if t.state is TrialState.COMPLETE]
    assert len(told) == len(set(told)) == 6


def test_wish_from_the_inbox_is_run_and_answered(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=3)
    database = tmp_path / "studies" / "small" / "study.db"
    wish: Settings = {"mem_fraction_static": 0.7, "cuda_graph_max_bs": 64}

    def answer(settings: Settings, call: int) -> AnyOutcome:
        if call == 1:
            inbox.try_settings(database, wish)
            inbox.try_settings(database, {"mem_fraction_static": 5.0, "cuda_graph_max_bs": 64})
        return completed(80.0)

    _, stand_in = _night(spec, answer)
    assert stand_in.asked[1] == wish
    assert _trials(spec)[1].user_attrs["proposal"]["why"] == "you asked for it"


def test_stop_after_trial(tmp_path: Path) -> None:
    spec = write_study(tmp_path)
    database = tmp_path / "studies" / "small" / "study.db"

    def answer(settings: Settings, call: int) -> AnyOutcome:
        if call == 2:
            inbox.stop_after_trial(database)
            time.sleep(1.5)
        return completed(80.0)

    result, stand_in = _night(spec, answer)
    assert result.exit_code == 0
    assert len(stand_in.asked) == 2
    assert all(trial.state is TrialState.COMPLETE for trial in _trials(spec))


def test_another_space_for_the_same_study_is_refused_by_key(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=2)
    _night(spec, lambda settings, call: completed(80.0))
    other = write_study(tmp_path, trials=2, text=STUDY.replace("[64, 128]", "[64, 128, 256]"))
    with pytest.raises(SpecError, match="cuda_graph_max_bs"):
        _night(other, lambda settings, call: completed(80.0))


def _fastest_is_070_with_64(settings: Settings, call: int) -> AnyOutcome:
    return completed(100.0 if settings == {"mem_fraction_static": 0.7, "cuda_graph_max_bs": 64} else 80.0)


def test_finals_boot_the_front_runners_and_the_baseline_again_and_decide(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=16, finals=9)
    notes = Notes()
    result, _ = _night(spec, _fastest_is_070_with_64, notes)
    finals = [trial for trial in _trials(spec) if trial.user_attrs.get("role") == "final"]
    assert result.sentence in ("the finals are done", "all 16 trials are done")
    by_settings: dict[tuple[object, ...], int] = {}
    for trial in finals:
        key = tuple(sorted(trial.params.items()))
        by_settings[key] = by_settings.get(key, 0) + 1
    winner = (("cuda_graph_max_bs", 64), ("mem_fraction_static", 0.7))
    baseline = (("cuda_graph_max_bs", 128), ("mem_fraction_static", 0.8))
    assert by_settings[winner] == 3
    assert sorted(by_settings.values()) == [2, 3, 4]
    assert by_settings[baseline] == 4  # the loser's third boot
    last = notes.bests[-1]
    assert last.confirmed
    assert last.throughput is not None
    assert last.throughput.boots == 3


def test_a_winner_that_fails_its_finals_loses(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=15, finals=9)
    booted: list[Settings] = []

    def answer(settings: Settings, call: int) -> AnyOutcome:
        again = settings in booted
        booted.append(settings)
        is_best = settings == {"mem_fraction_static": 0.7, "cuda_graph_max_bs": 64}
        if is_best and again:
            return settings_failed(FailureKind.OOM_RUNTIME)
        return completed(100.0 if is_best else 80.0 + 5 * (settings["cuda_graph_max_bs"] == 64))

    notes = Notes()
    _night(spec, answer, notes)
    finals = [trial for trial in _trials(spec) if trial.user_attrs.get("role") == "final"]
    lost = [trial for trial in finals if trial.state is TrialState.PRUNED]
    assert len(lost) == 1
    best_number = notes.bests[-1].best
    assert best_number is not None
    assert _trials(spec)[best_number].params["cuda_graph_max_bs"] == 64
    assert _trials(spec)[best_number].params["mem_fraction_static"] != 0.7


def test_a_night_that_promises_nothing_more_goes_on_to_its_finals_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autotune.night.loop.enough", lambda seen: "done" if len(seen) >= 3 else None)
    spec = write_study(tmp_path, trials=16, finals=6)
    notes = Notes()
    result, _ = _night(spec, _fastest_is_070_with_64, notes)
    roles = [trial.user_attrs["role"] for trial in _trials(spec)]
    assert roles[:3] == ["baseline", "search", "search"]
    assert set(roles[3:]) == {"final"}
    assert result.sentence == "the finals are done"
    assert "done; the finals come now" in notes.notices


def test_a_night_may_be_told_to_go_on_though_nothing_is_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autotune.night.loop.enough", lambda seen: "done")
    spec = write_study(tmp_path, trials=4, text=STUDY.replace("seed = 3", "seed = 3\nstop_when_done = false"))
    result, stand_in = _night(spec, _by_fraction)
    assert result.sentence == "all 4 trials are done"
    assert len(stand_in.asked) == 4


def test_a_sick_machine_is_left_alone_then_given_up_and_fit_again_in_the_next_run(tmp_path: Path) -> None:
    spec = write_study(tmp_path, trials=20)
    notes = Notes()
    result, stand_in = _night(spec, lambda settings, call: environment_failed(), notes)
    assert result.exit_code == 1
    assert "no disk" in result.sentence
    assert len(stand_in.asked) == 5
    pauses = [notice for notice in notes.notices if "left alone for" in notice]
    assert [pause.split(" ", 1)[0] for pause in pauses] == ["2", "3", "4"]
    healed, _ = _night(spec, _by_fraction)
    assert healed.exit_code == 0


def test_a_pause_ends_with_the_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paused: list[float] = []
    monkeypatch.setattr("autotune.night.session.BOX_WAITS_S", (3600.0,))
    monkeypatch.setattr("autotune.night.loop.StopRequests.wait", lambda self, seconds: paused.append(seconds))
    spec = write_study(tmp_path, text=STUDY.replace("trials = {trials}", "hours = 0.5"))
    notes = Notes()
    _night(spec, lambda settings, call: environment_failed(), notes)
    assert len(paused) == 1
    assert paused[0] <= 1800
    assert any("because the night ends soon" in notice for notice in notes.notices)


def test_stop_request_ends_the_pause_of_a_sick_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autotune.night.session.BOX_WAITS_S", (3600.0,))
    spec = write_study(tmp_path)
    database = tmp_path / "studies" / "small" / "study.db"

    def answer(settings: Settings, call: int) -> AnyOutcome:
        if call == 2:
            inbox.stop_now(database)
        return environment_failed()

    result, stand_in = _night(spec, answer)
    assert result.exit_code == 130
    assert len(stand_in.asked) == 2


def test_a_full_study_file_ends_the_night_and_the_next_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = write_study(tmp_path, trials=4)
    finish = Journal.finish_trial

    def full(self: Journal, number: int, *rest: Any) -> None:
        if number == 2:
            raise StudyFileError("study.db: the study cannot be written: database or disk is full")
        finish(self, number, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "finish_trial", full)
        result, _ = _night(spec, _by_fraction)
    assert result.exit_code == 1
    assert "database or disk is full" in result.sentence
    told = {trial.number: trial.state for trial in _trials(spec)}
    assert told[2] is TrialState.RUNNING
    again, _ = _night(spec, _by_fraction)
    assert again.exit_code == 0
    assert [trial.number for trial in _trials(spec) if trial.state is TrialState.RUNNING] == []
    assert {number: _trials(spec)[number].state for number in (0, 1)} == {0: told[0], 1: told[1]}


def test_a_disk_without_room_starts_no_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autotune.night.session.DiskRoom", partial(DiskRoom, free=lambda folder: 1))
    result, stand_in = _night(write_study(tmp_path), _by_fraction)
    assert result.exit_code == 1
    assert "is full (1 MiB free)" in result.sentence
    assert stand_in.asked == []
