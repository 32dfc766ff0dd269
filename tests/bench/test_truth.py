"""A few nights of ``make bench-truth``: it runs, and the verdict stays honest between two runs of it."""

from __future__ import annotations

import pytest

from tests.bench.bench_truth import summed_up, table, verdicts
from tests.bench.boxes_dev import DEV_BOXES
from tests.bench.simulated_night import GAINS, Ground, play

NIGHTS = 40
BOX = next(box for box in DEV_BOXES if box.noise == 0.02)


@pytest.mark.slow
def test_forty_nights_of_one_box_keep_what_the_verdict_says() -> None:
    ground = Ground(BOX)
    nights = [play(ground, seed) for seed in range(NIGHTS)]
    rows = [summed_up(BOX.name, BOX.noise, gain, [night[gain] for night in nights]) for gain in GAINS]
    usual, six, none = rows
    assert all(row.covered > 0.85 for row in rows)
    assert all(row.half < 0.045 for row in rows)
    assert usual.significant == 1.0
    assert six.significant > 0.6
    assert none.significant <= 0.1
    assert all(row.early[1] <= 0.1 for row in rows), "an unconfirmed verdict overstates"
    assert len(table(rows).splitlines()) == 2 + len(rows)
    assert "held in" in verdicts(rows)


def test_a_night_is_the_same_again() -> None:
    first, second = (play(Ground(BOX), 3) for _ in range(2))
    assert first == second
    assert first["none"].truths != first["6 %"].truths
