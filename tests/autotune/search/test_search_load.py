"""The load: bounds above it are the same, uncaptured batches stand apart, the usual can be unlearned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autotune.search import SearchSpace
from autotune.search.belief import Belief
from autotune.search.candidates import unswept
from autotune.search.codec import Codec
from autotune.search.history import History, Observation
from autotune.search.load import streams, usual_advantage
from autotune.search.memory import MemoryWindow

TABLE: dict[str, Any] = {
    "mem_fraction_static": {"low": 0.60, "high": 0.94, "step": 0.01},
    "cuda_graph_max_bs": [8, 16, 32, 64],
    "max_running_requests": [8, 16, 32, 64],
}
CODEC = Codec(SearchSpace.from_dict(TABLE))
BASE = {"mem_fraction_static": 0.8, "cuda_graph_max_bs": 64, "max_running_requests": 16}
RUNNING = CODEC.names.index("max_running_requests")
GRAPHS = CODEC.names.index("cuda_graph_max_bs")


def _boot(number: int, value: float = 100.0, level: int = 16, **changes: Any) -> Observation:
    measured = [{"level": level, "decode_tok_s": value}]
    return Observation(
        number, {**BASE, **changes}, "good", score=np.log(value), value=value, measurements=measured
    )


def _units(window: MemoryWindow, *changes: dict[str, Any]) -> np.ndarray[Any, Any]:
    return window.inputs(CODEC.values_of([{**BASE, **one} for one in changes]))


def test_the_load_is_that_of_the_level_that_was_scored() -> None:
    levels = [{"level": 1, "decode_tok_s": 40.0}, {"level": 64, "decode_tok_s": 900.0}]
    seen = Observation(0, BASE, "good", score=6.8, value=900.0, measurements=levels)
    assert streams([seen]) == 64
    assert streams([Observation(0, BASE, "good", score=6.8, value=900.0)]) is None


def test_running_requests_beyond_the_load_are_the_same() -> None:
    units = _units(
        MemoryWindow(CODEC, [_boot(0)]), *({"max_running_requests": bound} for bound in (8, 16, 64))
    )
    assert units[1, RUNNING] == units[2, RUNNING] == 0.0
    assert units[0, RUNNING] == pytest.approx(-0.25)
    blind = _units(MemoryWindow(CODEC, []), {"max_running_requests": 16}, {"max_running_requests": 64})
    assert blind[0, RUNNING] < blind[1, RUNNING]


def test_a_batch_without_a_graph_is_far_from_any_with_one() -> None:
    units = _units(MemoryWindow(CODEC, [_boot(0)]), *({"cuda_graph_max_bs": size} for size in (8, 16, 32)))
    assert units[2, GRAPHS] - units[1, GRAPHS] < 0.2
    assert units[1, GRAPHS] - units[0, GRAPHS] > 1.0


def test_a_sweep_does_not_ask_for_what_the_load_cannot_tell_apart() -> None:
    row = CODEC.row(BASE)
    rows = unswept(CODEC, row, row[None, :], MemoryWindow(CODEC, [_boot(0)]).inputs)
    assert 64 not in {CODEC.settings(line)["max_running_requests"] for line in rows}
    assert 8 in {CODEC.settings(line)["max_running_requests"] for line in rows}


def test_more_pool_more_requests_and_captured_batches_are_usually_faster() -> None:
    window = MemoryWindow(CODEC, [_boot(0)])
    changes = ({}, {"mem_fraction_static": 0.7}, {"max_running_requests": 8}, {"cuda_graph_max_bs": 8})
    gain = usual_advantage(CODEC, _units(window, *changes))
    assert np.all(gain[1:] < gain[0])


def test_the_end_of_a_range_is_seldom_best() -> None:
    codec = Codec(SearchSpace.from_dict({"chunked_prefill_size": [2048, 4096, 8192, 16384]}))
    rows = np.arange(4)[:, None]
    low, inner, also_inner, high = usual_advantage(codec, codec.unit(codec.values(rows)))
    assert low == pytest.approx(high)
    assert inner == pytest.approx(also_inner)
    assert low < inner


def test_what_does_not_count_is_at_no_end() -> None:
    table = {"speculative_algorithm": ["off", "EAGLE3"], "speculative_num_steps": {"low": 1, "high": 3}}
    codec = Codec(SearchSpace.from_dict(table))
    settings = [
        {"speculative_algorithm": "off"},
        {"speculative_algorithm": "EAGLE3", "speculative_num_steps": 3},
    ]
    idle, deepest = usual_advantage(codec, codec.unit(codec.values_of(settings)))
    assert idle == 0.0
    assert deepest < 0.0


def _believed(sign: int, *seen: Observation) -> tuple[float, float]:
    window = MemoryWindow(CODEC, seen)
    belief = Belief(CODEC, History(seen, {}, logarithmic=True, sign=sign), window, {})
    means, _ = belief.predict(_units(window, {"mem_fraction_static": 0.7}, {"mem_fraction_static": 0.9}))
    return float(means[0]), float(means[1])


def test_boots_correct_what_is_usual() -> None:
    small, large = _believed(1, _boot(0))
    assert large > small
    seen = [_boot(at, 100.0 - at, mem_fraction_static=0.66 + 0.04 * at) for at in range(7)]
    small, large = _believed(1, *seen)
    assert small > large


def test_nothing_is_usual_of_a_figure_to_minimise() -> None:
    small, large = _believed(-1, _boot(0))
    assert small == pytest.approx(large, abs=1e-9)
