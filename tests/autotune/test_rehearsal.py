"""Tonight's study on the box: everything of it stays but the server and the time."""

from __future__ import annotations

import pytest

from autotune.presets import preset
from autotune.rehearsal import FINALS, TRIALS, nearest_box, rehearsal_of
from autotune.spec import FinalsSection, StudySpec


@pytest.mark.parametrize(
    ("name", "box"),
    [
        ("kimi-k2.5-8x-rtx-pro-6000", "kimi-k2.5-8x-rtx-pro-6000"),
        ("one-gpu", "qwen3-32b-4x-l40s"),
    ],
)
def test_nearest_box(name: str, box: str) -> None:
    assert nearest_box(StudySpec.load(preset(name))) == box


def test_only_server_and_time_change() -> None:
    spec = StudySpec.load(preset("kimi-k2.5-8x-rtx-pro-6000"))
    played = rehearsal_of(spec)
    assert played.server.simulated
    assert played.server.args == spec.server.args
    assert played.space is spec.space
    assert played.known_good == spec.known_good
    assert played.limits == spec.limits
    assert played.bench.levels == spec.bench.levels
    assert played.name == "kimi-k2.5-night-rehearsal"
    assert (played.study.trials, played.study.hours, played.finals.boots) == (TRIALS, None, FINALS)


def test_no_finals_stay_no_finals() -> None:
    without = StudySpec.load(preset("demo"))
    without = without.model_copy(update={"finals": FinalsSection(boots=0)})
    assert rehearsal_of(without).finals.boots == 0
