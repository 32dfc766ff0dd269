"""What `check` finds before anything boots."""

from __future__ import annotations

from collections.abc import Callable

from trials.argument_checks import check_args, check_names, conflicts
from trials.flags import FlagCatalogue

CatalogueOf = Callable[[str], FlagCatalogue]


def test_a_good_space_has_no_problems(catalogue_of: CatalogueOf) -> None:
    space = {
        "mem_fraction_static": [0.7, 0.94],
        "layout": ["tp8", "tp8-ep8", "tp8-adp2"],
        "speculative_algorithm": ["off", "EAGLE3"],
        "speculative_num_steps": [1, 6],
        "all_reduce": ["nccl", "pcie_ipc"],
        "flag.schedule-conservativeness": [0.3, 1.0],
        "env.NCCL_P2P_DISABLE": ["0", "1"],
    }
    for release in ("0.5.9", "0.5.18", "0.5.23"):
        assert check_names(space, catalogue_of(release)) == []


def test_every_bad_value_is_named_once(catalogue_of: CatalogueOf) -> None:
    space = {"flag.attention-backend": ["fa3", "fa33", "fa33"], "flag.moe-a2a-backend": ["deep"]}
    problems = check_names(space, catalogue_of("0.5.23"))
    assert [problem.where for problem in problems] == ["flag.attention-backend", "flag.moe-a2a-backend"]
    assert "the nearest is 'deepep'" in problems[1].sentence


def test_details_of_speculation_are_checked_and_need_an_algorithm(catalogue_of: CatalogueOf) -> None:
    problems = check_names({"speculative_num_steps": [1, 2.5]}, catalogue_of("0.5.23"))
    assert [problem.sentence for problem in problems] == [
        "speculative_num_steps takes a whole number, not 2.5",
        'speculative_num_steps needs speculative_algorithm beside it, for example ["off", "EAGLE3"]',
    ]


def test_fixed_arguments_that_the_server_does_not_know(catalogue_of: CatalogueOf) -> None:
    args = (
        "--trust-remote-code",
        "--tool-call-parser",
        "kimi_k2",
        "--tp",
        "8",
        "--cuda-graph-max-bs=8",
        "--nope",
    )
    problems = check_args(args, catalogue_of("0.5.23"))
    assert [problem.where for problem in problems] == ["--cuda-graph-max-bs", "--nope"]
    retired = check_args(("--prefill-round-robin-balance",), catalogue_of("0.5.18"))
    assert retired[0].sentence == "args: --prefill-round-robin-balance no longer does anything; remove it"


def test_the_backend_of_serve_is_no_unknown_argument(catalogue_of: CatalogueOf) -> None:
    assert check_args(("--model-type", "llm"), catalogue_of("0.5.23")) == []


def test_conflicts_see_through_aliases_and_prefixes(catalogue_of: CatalogueOf) -> None:
    for spelling in ("--tp", "--tp-size=8", "--tensor-parallel-size"):
        found = conflicts((spelling,), ["layout"], catalogue_of("0.5.23"))
        assert [problem.where for problem in found] == ["layout"]


def test_conflicts_between_settings_model_endpoint_and_environment(catalogue_of: CatalogueOf) -> None:
    catalogue = catalogue_of("0.5.23")
    assert conflicts((), ["layout", "flag.tp-size"], catalogue)[0].where == "flag.tp-size"
    assert conflicts((), ["flag.port"], catalogue)[0].sentence == (
        "flag.port is also set by autotune for each boot; remove one of them"
    )
    assert conflicts(("--model", "x"), [], catalogue)[0].where == "[server] model_path"
    assert conflicts((), ["env.A"], catalogue, {"A": "1"})[0].where == "env.A"
    assert conflicts(("--speculative-draft-model-path", "x"), ["speculative_algorithm"], catalogue) != []


def test_no_conflict_where_only_one_of_them_speaks(catalogue_of: CatalogueOf) -> None:
    args = ("--host", "0.0.0.0", "--port", "8000", "--tp-size", "8")
    assert conflicts(args, ["mem_fraction_static", "all_reduce"], catalogue_of("0.5.23"), {"A": "1"}) == []
