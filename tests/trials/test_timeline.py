"""The stages of a trial as its recorder is told of them."""

from __future__ import annotations

from tests.trials.trial_runs import Record
from trials.outcome import Stage
from trials.timeline import Timeline


def test_stages_only_go_forward() -> None:
    record = Record()
    timeline = Timeline(record)
    for stage in (Stage.START, Stage.KV_POOL, Stage.LOAD_WEIGHTS, Stage.KV_POOL, Stage.READY):
        timeline.enter(stage)
    assert record.stages == [Stage.ARGUMENTS, Stage.START, Stage.KV_POOL, Stage.READY]
    assert timeline.stage is Stage.READY


def test_second_boot_begins_anew() -> None:
    record = Record()
    timeline = Timeline(record)
    timeline.enter(Stage.STOP)
    timeline.restart()
    timeline.enter(Stage.START)
    assert record.stages == [Stage.ARGUMENTS, Stage.STOP, Stage.ARGUMENTS, Stage.START]
