"""How long a silent stage is waited for, after boots that worked."""

from __future__ import annotations

import pytest

from autotune.night.patience import BOX_FLOOR_S, FACTOR, FLOOR_S, stage_timeouts
from trials.outcome import Stage


def _boot(load_s: float, capture_s: float) -> list[tuple[Stage, float]]:
    return [
        (Stage.ARGUMENTS, 0.0),
        (Stage.START, 1.0),
        (Stage.LOAD_WEIGHTS, 3.0),
        (Stage.GRAPH_CAPTURE, 3.0 + load_s),
        (Stage.READY, 3.0 + load_s + capture_s),
        (Stage.MEASURE, 4.0 + load_s + capture_s),
        (Stage.STOP, 400.0 + load_s + capture_s),
    ]


def test_the_slowest_boot_counts_times_a_factor() -> None:
    learned = stage_timeouts([_boot(100.0, 30.0), _boot(140.0, 20.0)], simulated=False)
    assert learned["load_weights"] == pytest.approx(FACTOR * 140.0)
    assert learned["graph_capture"] == pytest.approx(FACTOR * 30.0)


def test_one_boot_teaches_nothing() -> None:
    assert stage_timeouts([_boot(100.0, 30.0)], simulated=False) == {}


@pytest.mark.parametrize(("simulated", "floor"), [(False, FLOOR_S), (True, BOX_FLOOR_S)])
def test_quick_stages_keep_a_floor(simulated: bool, floor: float) -> None:
    learned = stage_timeouts([_boot(0.1, 0.2)] * 2, simulated=simulated)
    assert learned["load_weights"] == learned["graph_capture"] == floor


def test_only_stages_of_a_boot_are_learned() -> None:
    learned = stage_timeouts([_boot(100.0, 30.0)] * 3, simulated=False)
    assert set(learned) == {"start", "load_weights", "graph_capture"}
