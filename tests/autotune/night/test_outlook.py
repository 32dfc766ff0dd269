"""What a night may become, said before its first boot."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from autotune.night.outlook import outlook
from tests.autotune.night.nights import STUDY, write_study

_TEN = datetime(2026, 11, 29, 22, 0, tzinfo=UTC)
_REAL = STUDY.replace('box = "kimi-k2.5-8x-rtx-pro-6000"\n', 'command = ["true"]\n').replace(
    "boots = {finals}", ""
)


@pytest.mark.parametrize(
    ("ends", "sentence"),
    [
        ("trials = 60", "60 boots, 12 of them for the finals"),
        ("trials = 10", "10 boots, 0 of them for the finals"),
        ("hours = 9.5", "about 57 boots of 10 min, 12 of them for the finals"),
        ('until = "07:00"', "about 54 boots of 10 min by 07:00, 12 of them for the finals"),
        ('trials = 20\nuntil = "07:00"', "20 boots by 07:00, 9 of them for the finals"),
        ('hours = 1\nuntil = "07:00"', "about 6 boots of 10 min by 07:00, 0 of them for the finals"),
    ],
)
def test_by_what_ends_the_night(ends: str, sentence: str, tmp_path: Path) -> None:
    spec = write_study(tmp_path, text=_REAL.replace("trials = {trials}", ends))
    assert outlook(spec, _TEN) == sentence


def test_trials_of_the_box_take_seconds(tmp_path: Path) -> None:
    spec = write_study(tmp_path, text=STUDY.replace("trials = {trials}", "hours = 0.1"), finals=3)
    assert outlook(spec, _TEN) == "about 72 boots of 5 s, 3 of them for the finals"
