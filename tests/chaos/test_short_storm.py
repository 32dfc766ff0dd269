"""A short storm over a small study; the long one is ``make chaos``."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.chaos.aftermath import numbers, wrongs
from tests.chaos.chaos_study import ChaosStudy
from tests.chaos.mishaps import KILLS, OTHERS
from tests.chaos.storm import Storm, schedule


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_storm_leaves_every_told_trial_once_and_nothing_running(tmp_path: Path) -> None:
    storm = Storm(ChaosStudy(tmp_path, seed=3, port=18860), random.Random(3), lock_s=3.0)
    begun = time.monotonic()
    storm.study.write(trials=40)
    storm.rage(schedule(storm.rng, kills=12, others=len(OTHERS)))
    storm.calm_down(trials=8)
    for row in numbers(storm, time.monotonic() - begun):
        print(*row, sep=": ")
    assert wrongs(storm) == [], storm.study.printed[-4000:]


def test_every_kind_of_mishap_is_in_a_schedule_that_is_long_enough() -> None:
    drawn = schedule(random.Random(1), kills=12, others=7)
    assert len(drawn) == 19
    assert set(drawn) == {*KILLS, *OTHERS}


def test_the_same_seed_gives_the_same_schedule() -> None:
    names = [[mishap.name for mishap in schedule(random.Random(5), 30, 9)] for _ in range(2)]
    assert names[0] == names[1]
