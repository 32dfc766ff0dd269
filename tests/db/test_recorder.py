from __future__ import annotations

import sqlite3

import pytest
from sqlalchemy import insert

from db import queries, schema
from db.engine import open_reader
from db.recorder import BackgroundWriter
from tests.db.nights import Night, completed
from trials.gpus import GpuSample
from trials.outcome import BootReport, Stage


def test_everything_a_trial_reports_can_be_read_back(night: Night) -> None:
    number = night.begin().number
    measurement = completed(89.5).measurements[0]
    with night.journal.recorder(number) as recorder:
        recorder.stage(Stage.ARGUMENTS, 0.0)
        recorder.boot_started(1, ["python", "-m", "server"], {"NCCL_P2P_DISABLE": "0"}, 99)
        recorder.stage(Stage.START, 0.5)
        recorder.booted(BootReport(kv_tokens=5))
        recorder.progress(1, 70.0)
        recorder.progress(1, 89.0)
        recorder.measured(measurement)
        recorder.warning("max_running_requests reduced to 31")
        recorder.gpus([GpuSample(0, 1000, power_w=300.5, throttle=("power cap",)), GpuSample(1, 2000)])
    with open_reader(night.path) as reader, reader.connect() as connection:
        (boot,) = queries.boots(connection, number)
        assert (boot.pid, boot.argv, boot.report and boot.report["kv_tokens"]) == (
            99,
            ["python", "-m", "server"],
            5,
        )
        assert [(stage.boot, stage.stage) for stage in queries.stages(connection, number)] == [
            (0, "arguments"),
            (1, "start"),
        ]
        latest = queries.progress(connection, number)
        assert latest is not None
        assert (latest.level, latest.tok_s) == (1, 89.0)
        assert queries.measurements(connection, number) == [measurement.model_dump(mode="json")]
        assert [event.text for event in queries.events(connection, number=number)] == [
            "max_running_requests reduced to 31"
        ]
        (sample,) = queries.gpu_samples(connection, number)
        assert sample.cards[0] == {
            "index": 0,
            "used_mib": 1000,
            "power_w": 300.5,
            "sm_clock_mhz": None,
            "temperature_c": None,
            "utilisation": None,
            "throttle": ["power cap"],
        }


def test_a_locked_file_delays_reports_but_loses_none(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("db.engine.BUSY_TIMEOUT_S", 0.05)
    monkeypatch.setattr("db.recorder.RETRY_S", 0.05)
    number = night.begin().number
    night.journal.engine.dispose()
    other = sqlite3.connect(night.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    recorder = night.journal.recorder(number)
    recorder.stage(Stage.START, 1.0)
    recorder._writer._closing.wait(0.5)
    other.execute("COMMIT")
    other.close()
    recorder.close()
    with open_reader(night.path) as reader, reader.connect() as connection:
        assert [stage.stage for stage in queries.stages(connection, number)] == ["start"]


def test_refused_reports_are_counted_and_do_not_stop_the_others(night: Night) -> None:
    writer = BackgroundWriter(night.journal.engine)
    writer.put(insert(schema.stages).values(trial=12345, boot=1, stage="start", at="", seconds=0.0))
    writer._closing.wait(0.3)
    writer.put(insert(schema.events).values(at="", level="info", text="still here"))
    writer.close()
    assert writer.lost == 1
    with open_reader(night.path) as reader, reader.connect() as connection:
        assert [event.text for event in queries.events(connection)] == ["still here"]
