"""The memory window: direction of each failure, figures from logs and boots, exoneration by stage."""

from __future__ import annotations

from typing import Any

from autotune.search.codec import Codec, Matrix
from autotune.search.history import STAGES, Failure, Observation
from autotune.search.memory import MemoryChances, MemoryWindow
from tests.autotune.search.search_cases import GIB, PLAIN, SPACE, crash, good

CODEC = Codec(SPACE)


def _values(**changes: Any) -> Matrix:
    return CODEC.values_of([{**PLAIN, **changes}])


def _chances(seen: list[Observation], **changes: Any) -> MemoryChances:
    return MemoryWindow(CODEC, seen).chances(_values(**changes))


def _measured(number: int, fraction: float, weights: float, left: float) -> Observation:
    boot = {"weights_gib": weights, "draft_gib": 0.0, "kv_gib": fraction * GIB - weights, "left_gib": left}
    seen = good(number, mem_fraction_static=fraction)
    return Observation(**{**vars(seen), "boot": boot})


def test_too_small_a_pool_asks_for_more_and_says_nothing_of_too_much() -> None:
    seen = [crash(number, "kv_pool_too_small", "kv_pool", mem_fraction_static=0.80) for number in range(2)]
    assert _chances(seen, mem_fraction_static=0.78).pool[0] < 0.15
    assert _chances(seen, mem_fraction_static=0.90).pool[0] > 0.3
    before, after = _chances([], mem_fraction_static=0.93), _chances(seen, mem_fraction_static=0.93)
    assert after.start_up[0] > before.start_up[0] - 0.05


def test_out_of_memory_in_capture_asks_for_less_and_acquits_the_pool() -> None:
    seen = [crash(0, "oom_graph_capture", "graph_capture", mem_fraction_static=0.90, cuda_graph_max_bs=512)]
    assert _chances(seen, mem_fraction_static=0.92, cuda_graph_max_bs=512).start_up[0] < 0.2
    assert _chances(seen, mem_fraction_static=0.90, cuda_graph_max_bs=512).pool[0] > 0.75
    smaller = _chances(seen, mem_fraction_static=0.90, cuda_graph_max_bs=16).start_up[0]
    assert smaller > _chances(seen, mem_fraction_static=0.90, cuda_graph_max_bs=512).start_up[0]


def test_the_printed_minimum_is_taken_at_its_word() -> None:
    failure = Failure("kv_pool_too_small", STAGES.index("kv_pool"), (), 0.781)
    seen = [Observation(0, {**PLAIN, "mem_fraction_static": 0.72}, "crash", failure=failure)]
    assert _chances(seen, mem_fraction_static=0.77).pool[0] < 0.1
    assert _chances(seen, mem_fraction_static=0.80).pool[0] > 0.9


def test_figures_of_one_good_boot_place_both_ends() -> None:
    """72 GiB of 96 need a fraction above 0.75; 8.6 GiB left at 0.85 last until about 0.94."""
    seen = [_measured(0, 0.85, 72.0, 8.6)]
    assert _chances(seen, mem_fraction_static=0.73).pool[0] < 0.05
    assert _chances(seen, mem_fraction_static=0.78).pool[0] > 0.95
    assert _chances(seen, mem_fraction_static=0.90).start_up[0] > 0.95
    tight = [_measured(0, 0.85, 72.0, 2.0)]
    assert _chances(tight, mem_fraction_static=0.90).start_up[0] < 0.05


def test_a_draft_model_moves_the_lower_end_by_what_was_seen() -> None:
    speculative = {"speculative_algorithm": "EAGLE3", "speculative_num_steps": 2, "speculative_eagle_topk": 1}
    failure = Failure("kv_pool_too_small", STAGES.index("kv_pool"), (), 0.83)
    seen = [
        _measured(0, 0.80, 72.0, 12.0),
        Observation(1, {**PLAIN, **speculative, "mem_fraction_static": 0.80}, "crash", failure=failure),
    ]
    assert _chances(seen, mem_fraction_static=0.80, **speculative).pool[0] < 0.05
    assert _chances(seen, mem_fraction_static=0.86, **speculative).pool[0] > 0.9
    assert _chances(seen, mem_fraction_static=0.79).pool[0] > 0.9


def test_a_space_without_a_fraction_never_lacks_a_pool() -> None:
    from autotune.search import SearchSpace

    codec = Codec(SearchSpace.from_dict({"cuda_graph_max_bs": [16, 512]}))
    window = MemoryWindow(codec, [])
    assert window.chances(codec.values_of([{"cuda_graph_max_bs": 512}])).pool[0] == 1.0
