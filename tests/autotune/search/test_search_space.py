"""Parameters, conditions, canonical keys, and errors that name the key."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from autotune.search import SearchSpace, SpaceError
from tests.autotune.search.search_cases import PLAIN, SPACE, TABLE


def test_lists_and_ranges_become_optuna_distributions() -> None:
    assert SPACE.distributions["all_reduce"] == CategoricalDistribution(
        ["nccl", "pcie_ipc", "torch_symm_mem"]
    )
    assert SPACE.distributions["cuda_graph_max_bs"] == CategoricalDistribution([16, 64, 256, 512])
    assert SPACE.distributions["speculative_num_steps"] == IntDistribution(1, 4)
    assert SPACE.distributions["mem_fraction_static"] == FloatDistribution(0.70, 0.94, step=0.01)


def test_a_step_is_checked_in_decimal_and_values_are_written_cleanly() -> None:
    values = SPACE.parameters["mem_fraction_static"].values
    assert values is not None
    assert len(values) == 25
    assert values[-1] == 0.94
    assert SPACE.check({"mem_fraction_static": 0.7 + 0.1 + 0.09})["mem_fraction_static"] == 0.89


@pytest.mark.parametrize(
    ("table", "setting", "words"),
    [
        ({"mem_fraction": [0.8]}, "mem_fraction", "did you mean mem_fraction_static?"),
        ({"layuot": ["tp8"]}, "layuot", "did you mean layout?"),
        ({"flag.": [1]}, "flag.", "is not a setting"),
        ({"layout": []}, "layout", "empty list"),
        ({"layout": ["tp8", "tp8"]}, "layout", "twice"),
        ({"layout": "tp8"}, "layout", "neither a list nor a range"),
        ({"cuda_graph_max_bs": {"low": 64, "high": 8}}, "cuda_graph_max_bs", "low = 64 is above high = 8"),
        ({"cuda_graph_max_bs": {"low": 64}}, "cuda_graph_max_bs", "has no high"),
        ({"cuda_graph_max_bs": {"low": 1, "high": 2, "steps": 1}}, "cuda_graph_max_bs", "'steps'"),
        (
            {"mem_fraction_static": {"low": 0.7, "high": 0.95, "step": 0.02}},
            "mem_fraction_static",
            "the nearest high is 0.94",
        ),
        ({"mem_fraction_static": {"low": 0.7, "high": 0.9, "step": 0}}, "mem_fraction_static", "above 0"),
        (
            {"max_running_requests": {"low": 1, "high": 9, "step": 0.5}},
            "max_running_requests",
            "whole numbers",
        ),
    ],
)
def test_a_bad_table_is_refused_with_a_sentence_that_names_the_key(
    table: dict[str, Any], setting: str, words: str
) -> None:
    with pytest.raises(SpaceError) as caught:
        SearchSpace.from_dict(table)
    assert caught.value.setting == setting
    assert setting in str(caught.value)
    assert words in str(caught.value)


def test_speculative_details_count_only_with_an_algorithm() -> None:
    details = {"speculative_num_steps": 3, "speculative_eagle_topk": 4, "speculative_num_draft_tokens": 6}
    off = {**PLAIN, **details}
    on = {**off, "speculative_algorithm": "EAGLE3"}
    assert SPACE.active(off) == PLAIN
    assert SPACE.active(on) == on
    narrow = {**on, "speculative_eagle_topk": 1}
    assert "speculative_num_draft_tokens" not in SPACE.active(narrow)
    ngram = SPACE.active({**on, "speculative_algorithm": "NGRAM"})
    assert "speculative_num_draft_tokens" in ngram
    assert "speculative_num_steps" not in ngram


def test_settings_that_start_the_same_server_have_the_same_key() -> None:
    narrow = {
        **PLAIN,
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "speculative_eagle_topk": 1,
    }
    assert SPACE.canonical({**narrow, "speculative_num_draft_tokens": 4}) == SPACE.canonical(narrow)
    assert SPACE.canonical({**PLAIN, "all_reduce": "custom"}) == SPACE.canonical(
        {**PLAIN, "all_reduce": "default"}
    )
    a2a = "flag.moe-a2a-backend"
    assert SPACE.canonical({**PLAIN, a2a: "deepep"}) == SPACE.canonical({**PLAIN, a2a: "none"})
    experts = {**PLAIN, "layout": "tp8-ep8"}
    assert SPACE.canonical({**experts, a2a: "deepep"}) != SPACE.canonical({**experts, a2a: "none"})
    assert SPACE.canonical({**PLAIN, "all_reduce": "pcie_ipc"}) != SPACE.canonical(PLAIN)


def test_suggest_asks_only_for_what_counts() -> None:
    fixed = {**PLAIN, "speculative_num_steps": 3}
    assert SPACE.suggest(optuna.trial.FixedTrial(fixed)) == PLAIN
    assert SPACE.missing(PLAIN) == ()
    assert SPACE.missing({**PLAIN, "speculative_algorithm": "EAGLE3"}) == (
        "speculative_num_steps",
        "speculative_eagle_topk",
        "speculative_num_draft_tokens",
    )


def test_settings_outside_the_space_are_refused_by_name() -> None:
    with pytest.raises(SpaceError, match=r"\[\[known_good\]\] 1: mem_fraction_static = 0\.5 is outside"):
        SPACE.check({"mem_fraction_static": 0.5}, where="[[known_good]] 1")
    with pytest.raises(SpaceError, match=r"layuot is not in \[space\]; did you mean layout"):
        SPACE.check({"layuot": "tp8"})
    with pytest.raises(SpaceError):
        SPACE.check({"mem_fraction_static": 0.855})


def test_a_stored_space_that_differs_is_named() -> None:
    SPACE.check_stored(SPACE.distributions)
    with pytest.raises(SpaceError, match="cuda_graph_max_bs was one of 16, 64 in this study"):
        SPACE.check_stored({"cuda_graph_max_bs": CategoricalDistribution([16, 64])})
    with pytest.raises(SpaceError, match="chunked_prefill_size, which this space lacks"):
        SPACE.check_stored({"chunked_prefill_size": IntDistribution(1, 2)})


def test_the_table_itself_is_not_changed() -> None:
    assert TABLE["mem_fraction_static"] == {"low": 0.70, "high": 0.94, "step": 0.01}
