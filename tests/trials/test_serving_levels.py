"""A trial whose levels do not all give a number, and what is said of those that do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trials.serving
from tests.trials.trial_runs import run_on_box, trial_plan
from trials.box.faults import FAULTS_VARIABLE
from trials.measure_errors import NoSteadyWindowError
from trials.outcome import Completed, FailureKind, Measurement, SettingsFailed
from trials.settings import BenchPlan, Settings
from trials.throughput import measure_level

pytestmark = pytest.mark.slow

SETTINGS: Settings = {"mem_fraction_static": 0.88, "layout": "tp8"}


def fail_at(missing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(url: str, level: int, *args: Any, **more: Any) -> Measurement:
        if level == missing:
            raise NoSteadyWindowError(FailureKind.HANG, f"too slow at {level} streams")
        measurement = measure_level(url, level, *args, **more)
        return measurement.model_copy(update={"notes": ("a note",)})

    monkeypatch.setattr(trials.serving, "measure_level", measure)


def run(folder: Path) -> Any:
    bench = BenchPlan(levels=(1, 4), main_level=1, output_tokens=96, max_seconds_per_level=2.5)
    return run_on_box(SETTINGS, trial_plan(folder, bench=bench))[0]


def test_a_side_level_without_a_window_is_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(4, monkeypatch)
    outcome = run(tmp_path)
    assert isinstance(outcome, Completed), outcome
    assert [measurement.level for measurement in outcome.measurements] == [1]
    assert "too slow at 4 streams; the level is left out" in outcome.warnings
    assert "at 1 stream: a note" in outcome.warnings


def test_a_stranger_on_a_card_makes_a_level_be_measured_twice_and_the_next_one_not(tmp_path: Path) -> None:
    fault = json.dumps([{"kind": "foreign_process", "card": 1}])
    bench = BenchPlan(levels=(1, 4), main_level=1, output_tokens=96, max_seconds_per_level=2.5)
    plan = trial_plan(tmp_path, bench=bench, env={FAULTS_VARIABLE: fault})
    outcome, _ = run_on_box(SETTINGS, plan)
    assert isinstance(outcome, Completed), outcome
    main, other = (" ".join(measurement.notes) for measurement in outcome.measurements)
    assert "measured twice" in main
    assert "which is not ours, held memory on GPU 1" in main
    assert "measured twice" not in other
    assert "disturbed: pid " in other
    assert any("disturbed: pid " in warning for warning in outcome.warnings)


def test_without_the_main_level_the_settings_have_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(1, monkeypatch)
    outcome = run(tmp_path)
    assert isinstance(outcome, SettingsFailed)
    assert outcome.failure.kind is FailureKind.HANG
