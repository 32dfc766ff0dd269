"""Group testing: blame spreads, success acquits, stages matter, names decide."""

from __future__ import annotations

from typing import Any

from autotune.search.codec import Codec
from autotune.search.history import Observation
from autotune.search.landmines import Landmines
from tests.autotune.search.search_cases import PLAIN, SPACE, crash, good, named

CODEC = Codec(SPACE)


def _chance(seen: list[Observation], **changes: Any) -> float:
    values = CODEC.values_of([{**PLAIN, **named(changes)}])
    return float(Landmines(CODEC, seen).chances(values)[0])


def test_the_only_untried_value_of_a_crash_is_to_blame() -> None:
    seen = [good(0), crash(1, "unsupported_kernel", "graph_capture", all_reduce="torch_symm_mem")]
    assert _chance(seen, all_reduce="torch_symm_mem") < 0.35
    assert _chance(seen) > 0.95
    assert _chance(seen, all_reduce="pcie_ipc") > 0.8


def test_two_untried_values_share_the_blame_until_one_works() -> None:
    both = crash(1, "unsupported_kernel", "warm_up", all_reduce="torch_symm_mem", attention="fa3")
    before = _chance([good(0), both], attention="fa3")
    after = _chance([good(0), both, good(2, all_reduce="torch_symm_mem")], attention="fa3")
    assert 0.3 < before < 0.8
    assert after < before
    assert _chance([good(0), both, good(2, all_reduce="torch_symm_mem")], all_reduce="torch_symm_mem") > 0.9


def test_values_that_work_alone_can_fail_together() -> None:
    seen = [
        good(0),
        good(1, layout="tp8-ep8"),
        good(2, all_reduce="pcie_ipc"),
        crash(3, "invalid_settings", "load_weights", layout="tp8-ep8", all_reduce="pcie_ipc"),
    ]
    assert _chance(seen, layout="tp8-ep8", all_reduce="pcie_ipc") < 0.35
    assert _chance(seen, layout="tp8-ep8") > 0.95
    assert _chance(seen, all_reduce="pcie_ipc") > 0.95


def test_a_log_that_names_its_culprit_decides() -> None:
    both = crash(
        1, "unsupported_kernel", "warm_up", "all_reduce", all_reduce="torch_symm_mem", attention="fa3"
    )
    assert _chance([good(0), both], all_reduce="torch_symm_mem") < 0.3
    assert _chance([good(0), both], attention="fa3") > 0.8


def test_passing_the_stage_acquits_even_if_memory_ends_the_boot_later() -> None:
    mine = crash(1, "unsupported_kernel", "init_distributed", all_reduce="torch_symm_mem", attention="fa3")
    later = crash(2, "oom_graph_capture", "graph_capture", attention="fa3")
    blamed = _chance([good(0), mine], attention="fa3")
    assert _chance([good(0), mine, later], attention="fa3") > blamed


def test_memory_failures_blame_nobody() -> None:
    seen = [
        good(0),
        *(crash(number, "oom_graph_capture", "graph_capture", attention="fa3") for number in (1, 2, 3)),
    ]
    assert _chance(seen, attention="fa3") > 0.85


def test_repeating_a_crash_does_not_condemn_what_has_worked() -> None:
    """Seven crashes that share settings which work elsewhere leave those alone."""
    seen = [
        good(0),
        *(crash(number, "hang", "measure", all_reduce="torch_symm_mem") for number in range(1, 8)),
    ]
    assert _chance(seen, all_reduce="torch_symm_mem") < 0.1
    assert _chance(seen) > 0.9


def test_what_several_values_share_can_be_the_mine() -> None:
    from autotune.search import SearchSpace

    table = {"speculative_eagle_topk": [1, 2, 4, 8], "flag.attention-backend": ["flashinfer", "trtllm_mha"]}
    codec = Codec(SearchSpace.from_dict(table))
    settings = [
        {"speculative_eagle_topk": topk, "flag.attention-backend": "trtllm_mha"} for topk in (1, 2, 4)
    ]
    from autotune.search.history import STAGES, Failure

    refused = Failure("invalid_settings", STAGES.index("arguments"), ("speculative_eagle_topk",))
    seen = [Observation(0, settings[0], "good", value=1.0)]
    seen += [Observation(at, settings[at], "crash", failure=refused) for at in (1, 2)]
    untried = codec.values_of([{"speculative_eagle_topk": 8, "flag.attention-backend": "trtllm_mha"}])
    assert Landmines(codec, seen).chances(untried)[0] < 0.4


def test_the_worst_part_is_described_in_words() -> None:
    seen = [good(0), crash(1, "unsupported_kernel", "graph_capture", all_reduce="torch_symm_mem")]
    mines = Landmines(CODEC, seen)
    suspect, belief = mines.worst(CODEC.values_of([{**PLAIN, "all_reduce": "torch_symm_mem"}]))
    assert suspect is not None
    assert belief > 0.5
    assert mines.describe(suspect) == "all_reduce torch_symm_mem"
