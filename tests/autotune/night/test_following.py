"""A night told from its file: what the watcher of another process's study hears."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.liveness import started_s
from autotune.night.asking import Asked
from autotune.night.following import Follower, follow
from tests.autotune.night.nights import Notes
from tests.db.nights import Night, completed, settings_failed
from trials.outcome import AnyOutcome, Measurement, Stage


class Heard(Notes):
    """Keeps everything in one list, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def trial_started(
        self, asked: Asked, place: int, planned: int | None, seconds_left: float | None
    ) -> None:
        self.lines.append(f"begin {asked.number} ({place} of {planned}) {asked.role}: {asked.why}")

    def stage(self, stage: Stage, seconds: float) -> None:
        self.lines.append(f"stage {stage}")

    def progress(self, level: int, tok_s: float) -> None:
        self.lines.append(f"progress {level} {tok_s:g}")

    def measured(self, measurement: Measurement) -> None:
        self.lines.append(f"measured {measurement.level}")

    def trial_ended(self, asked: Asked, outcome: AnyOutcome) -> None:
        self.lines.append(f"end {asked.number} {type(outcome).__name__}")

    def heard(self) -> list[str]:
        """What was said since the last call."""
        lines, self.lines = self.lines, []
        return lines


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    night = Night(tmp_path / "night" / "study.db", pid=os.getpid(), started=started_s(os.getpid()))
    yield night
    night.close()


def test_what_was_over_before_the_first_look_is_not_told(night: Night) -> None:
    night.play(completed(90.0))
    night.journal.notice("the last runner died; its study is taken over")
    heard = Heard()
    assert Follower(night.path, heard).look().goes_on
    assert heard.heard() == []
    assert heard.notices == []
    assert [verdict.best for verdict in heard.bests] == [0]


def test_a_trial_is_told_from_its_beginning_to_its_end(night: Night) -> None:
    heard = Heard()
    follower = Follower(night.path, heard)
    follower.look()
    night.journal.plan_run(boots_planned=5, ends_by=None)
    trial = night.begin(proposal={"why": "your own settings"}, role="baseline")
    with night.journal.recorder(trial.number) as recorder:
        recorder.stage(Stage.LOAD_WEIGHTS, 1.0)
    follower.look()
    assert heard.heard() == ["begin 0 (1 of 5) baseline: your own settings", "stage load_weights"]
    with night.journal.recorder(trial.number) as recorder:
        recorder.stage(Stage.MEASURE, 9.0)
        recorder.progress(1, 88.0)
    follower.look()
    assert heard.heard() == ["stage measure", "progress 1 88"]
    follower.look()
    assert heard.heard() == []
    night.finish(trial, completed(90.0))
    follower.look()
    assert heard.heard() == ["end 0 Completed"]
    assert [verdict.best for verdict in heard.bests] == [0]


def test_a_trial_that_came_and_went_between_two_looks_is_told_whole(night: Night) -> None:
    heard = Heard()
    follower = Follower(night.path, heard)
    follower.look()
    night.play(settings_failed())
    night.journal.notice("a word of the night")
    follower.look()
    assert heard.heard() == ["begin 0 (1 of None) search: ", "end 0 SettingsFailed"]
    assert heard.notices == ["a word of the night"]


def test_following_ends_with_the_run(night: Night) -> None:
    night.journal.end_run("all 2 trials are done")
    assert follow(night.path, Heard(), every_s=0.0).state.sentence == "all 2 trials are done"


def test_following_ends_when_the_runner_dies(tmp_path: Path) -> None:
    night = Night(tmp_path / "night" / "study.db", pid=2**22 + 1)
    assert follow(night.path, Heard(), every_s=0.0).state.word == "died"
    night.close()
