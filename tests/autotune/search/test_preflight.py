"""What earlier boots prove about memory, and what they do not."""

from __future__ import annotations

from typing import Any

from autotune.search.codec import Codec
from autotune.search.history import STAGES, Failure, Observation
from autotune.search.preflight import Preflight
from tests.autotune.search.search_cases import GIB, PLAIN, SPACE, crash, good

CODEC = Codec(SPACE)


def _proof(seen: list[Observation], **changes: Any) -> str | None:
    return Preflight(CODEC, seen).proof({**PLAIN, **changes})


def _too_low(fraction: float, printed: float | None) -> Observation:
    failure = Failure("kv_pool_too_small", STAGES.index("kv_pool"), (), printed)
    return Observation(4, {**PLAIN, "mem_fraction_static": fraction}, "crash", failure=failure)


def test_below_a_printed_minimum_nothing_is_booted() -> None:
    seen = [_too_low(0.72, 0.781)]
    assert _proof(seen, mem_fraction_static=0.78) == (
        "a fraction of 0.78 is not above 0.781, too low as trial 4 showed"
    )
    assert _proof(seen, mem_fraction_static=0.79) is None
    assert _proof(seen, mem_fraction_static=0.72, layout="tp8-adp2") is None


def test_without_a_printed_minimum_the_crash_itself_is_the_proof() -> None:
    seen = [_too_low(0.76, None)]
    assert _proof(seen, mem_fraction_static=0.75, cuda_graph_max_bs=16) is not None
    assert _proof(seen, mem_fraction_static=0.77) is None


def test_a_boot_that_worked_lower_withdraws_the_proof() -> None:
    seen = [_too_low(0.76, None), good(5, mem_fraction_static=0.74)]
    assert _proof(seen, mem_fraction_static=0.75, cuda_graph_max_bs=16) is None


def test_asking_for_no_less_than_a_crash_is_proof() -> None:
    seen = [crash(7, "oom_graph_capture", "graph_capture", mem_fraction_static=0.90, cuda_graph_max_bs=256)]
    assert _proof(seen, mem_fraction_static=0.92, cuda_graph_max_bs=512) == (
        "trial 7 ran out of memory asking for no more"
    )
    assert _proof(seen, mem_fraction_static=0.92, cuda_graph_max_bs=64) is None
    assert _proof(seen, mem_fraction_static=0.89, cuda_graph_max_bs=512) is None
    assert _proof(seen, mem_fraction_static=0.92, cuda_graph_max_bs=512, all_reduce="pcie_ipc") is None


def test_figures_of_a_good_boot_say_how_much_more_fits() -> None:
    boot = {"weights_gib": 72.0, "draft_gib": 0.0, "kv_gib": 0.80 * GIB - 72.0, "left_gib": 5.0}
    seen = [Observation(**{**vars(good(2, mem_fraction_static=0.80)), "boot": boot})]
    assert _proof(seen, mem_fraction_static=0.84) is None
    proof = _proof(seen, mem_fraction_static=0.90)
    assert proof == "trial 2 left 5.0 GiB, and this takes 9.6 GiB more"
    assert _proof(seen, mem_fraction_static=0.90, cuda_graph_max_bs=16) is None


def test_landmines_prove_nothing_about_memory() -> None:
    assert _proof([crash(1, "unsupported_kernel", "graph_capture")], mem_fraction_static=0.94) is None
