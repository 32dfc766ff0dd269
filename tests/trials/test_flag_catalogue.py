"""The catalogue against the flag lists of three releases."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from trials.flags import Flag, FlagCatalogue

CatalogueOf = Callable[[str], FlagCatalogue]


@pytest.mark.parametrize(("release", "count"), [("0.5.9", 332), ("0.5.18", 489), ("0.5.23", 532)])
def test_every_flag_of_a_release_is_found_by_each_spelling(
    catalogue_of: CatalogueOf, release: str, count: int
) -> None:
    catalogue = catalogue_of(release)
    assert len(catalogue.flags) == count
    for flag in catalogue.flags:
        for name in flag.spellings:
            assert catalogue.find(name) is flag


@pytest.mark.parametrize("spelling", ["--tp-size", "tp-size", "tp_size", "--tensor-parallel-size"])
def test_dashes_and_aliases_do_not_matter(catalogue_of: CatalogueOf, spelling: str) -> None:
    flag = catalogue_of("0.5.23").find(spelling)
    assert flag is not None
    assert flag.name == "--tp-size"
    assert flag.type == "int"
    assert flag.default == "1"


def test_a_flag_that_moved_is_ambiguous_as_a_prefix(catalogue_of: CatalogueOf) -> None:
    catalogue = catalogue_of("0.5.23")
    assert catalogue.find("--cuda-graph-max-bs") is None
    assert catalogue.match("--cuda-graph-max-bs") is None
    assert catalogue.completions("--cuda-graph-max-bs") == (
        "--cuda-graph-max-bs-decode",
        "--cuda-graph-max-bs-prefill",
    )
    assert catalogue.nearest("--cuda-graph-max-bs") == "--cuda-graph-max-bs-decode"


@pytest.mark.parametrize("prefix", ["--cuda-graph-bs", "--pp"])
def test_ambiguous_prefixes_match_nothing(catalogue_of: CatalogueOf, prefix: str) -> None:
    assert catalogue_of("0.5.23").match(prefix) is None


@pytest.mark.parametrize(("prefix", "name"), [("--tp", "--tp-size"), ("--dp", "--dp-size")])
def test_unambiguous_prefixes_match_as_the_parser_would(
    catalogue_of: CatalogueOf, prefix: str, name: str
) -> None:
    flag = catalogue_of("0.5.23").match(prefix)
    assert flag is not None
    assert flag.name == name


def test_deprecations_name_the_successor(catalogue_of: CatalogueOf) -> None:
    flag = catalogue_of("0.5.18").find("--cuda-graph-max-bs")
    assert flag is not None
    assert flag.deprecated
    assert flag.new_flag == "--cuda-graph-max-bs-decode"


def test_a_retired_flag_is_never_chosen(catalogue_of: CatalogueOf) -> None:
    catalogue = catalogue_of("0.5.18")
    retired = catalogue.find("--prefill-round-robin-balance")
    assert retired is not None
    assert retired.retired
    assert catalogue.first_of(["--prefill-round-robin-balance"]) is None


def test_a_switch_with_an_opposite(catalogue_of: CatalogueOf) -> None:
    flag = catalogue_of("0.5.23").find("--no-lora-strict-loading")
    assert flag is not None
    assert flag.name == "--lora-strict-loading"
    assert flag.negative == "--no-lora-strict-loading"
    assert flag.takes == "nothing"


def test_nearest_finds_a_misspelling_and_gives_up_on_nonsense(catalogue_of: CatalogueOf) -> None:
    catalogue = catalogue_of("0.5.23")
    assert (
        catalogue.nearest("flashinfer-allreduce-fusion-backends") == "--flashinfer-allreduce-fusion-backend"
    )
    assert catalogue.nearest("--zzzzzzzzzz") is None


def test_short_spellings_do_not_hide_the_long_one() -> None:
    flag = Flag.from_action({"flags": ["-h", "--help"], "dest": "help", "action": "_HelpAction", "nargs": 0})
    assert flag.names == ("--help",)
