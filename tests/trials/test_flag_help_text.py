"""Help texts -> catalogue: argparse's own formatting of many kinds of flags, and SGLang's."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest

from trials.flags import Flag, FlagCatalogue, from_help

SERVE_HELP = """\
--- Help for Standard Language Model Server ---
usage: sglang serve [-h] --model-path MODEL_PATH [--attn-dp-size N]

options:
  -h, --help            show this help message and exit
  --model-path MODEL_PATH, --model MODEL_PATH
                        The path of the model weights.
  --enable-dp-attention
                        Deprecated. Use --attn-dp-size <dp-size> instead of
                        --dp-size <dp-size> --enable-dp-attention.
  --enable-flashinfer-allreduce-fusion
                        (Deprecated: use --flashinfer-allreduce-fusion-
                        backend=auto) Enable FlashInfer allreduce fusion.

--- Help for Diffusion Model Server ---
usage: sglang serve [-h] --model-path MODEL_PATH --guidance GUIDANCE

options:
  --guidance GUIDANCE   Only for pictures.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="server")
    parser.add_argument("--model-path", "--model", required=True, help="Where the weights are.")
    parser.add_argument("--dtype", choices=["auto", "half"], default="auto", help="Kind (default: auto)")
    parser.add_argument("--cuda-graph-bs-decode", type=int, nargs="+")
    parser.add_argument("--lora-paths", nargs="*")
    parser.add_argument("--model-checksum", nargs="?")
    parser.add_argument("--enable-metrics", action="store_true")
    parser.add_argument("--fdfo", action=argparse.BooleanOptionalAction)
    group = parser.add_argument_group("more")
    group.add_argument("--tp-size", type=int, help="a, b or --dp-size; {not,choices}")
    return parser


@pytest.fixture
def catalogue() -> FlagCatalogue:
    return from_help(_parser().format_help())


def test_all_flags_are_there_and_only_they(catalogue: FlagCatalogue) -> None:
    assert {name for flag in catalogue.flags for name in flag.names} == {
        "--help",
        "--model-path",
        "--model",
        "--dtype",
        "--cuda-graph-bs-decode",
        "--lora-paths",
        "--model-checksum",
        "--enable-metrics",
        "--fdfo",
        "--tp-size",
    }


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("--model-path", "one"),
        ("--cuda-graph-bs-decode", "many"),
        ("--lora-paths", "many"),
        ("--model-checksum", "optional"),
        ("--enable-metrics", "nothing"),
        ("--fdfo", "nothing"),
    ],
)
def test_how_many_values_follow(catalogue: FlagCatalogue, name: str, takes: str) -> None:
    flag = catalogue.find(name)
    assert flag is not None
    assert flag.takes == takes


def test_choices_come_from_the_metavar_only(catalogue: FlagCatalogue) -> None:
    dtype, tp = catalogue.find("--dtype"), catalogue.find("--tp-size")
    assert dtype is not None
    assert tp is not None
    assert dtype.choices == ("auto", "half")
    assert dtype.default == "auto"
    assert tp.choices is None


def test_the_opposite_of_a_switch(catalogue: FlagCatalogue) -> None:
    flag = catalogue.find("--fdfo")
    assert flag is not None
    assert flag.negative == "--no-fdfo"


def test_of_two_programs_the_language_model_server_counts() -> None:
    catalogue = from_help(SERVE_HELP)
    assert catalogue.find("--guidance") is None
    assert catalogue.find("--model") is catalogue.find("--model-path")


def test_deprecations_and_names_broken_over_two_lines() -> None:
    catalogue = from_help(SERVE_HELP)
    attention, fusion = (
        catalogue.find(name) for name in ("--enable-dp-attention", "--enable-flashinfer-allreduce-fusion")
    )
    assert attention is not None
    assert fusion is not None
    assert (attention.deprecated, attention.new_flag) == (True, "--attn-dp-size")
    assert fusion.new_flag == "--flashinfer-allreduce-fusion-backend=auto"


@pytest.mark.parametrize("text", ["", "hello", "usage: true\n"])
def test_text_without_flags_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="lists no flags"):
        from_help(text)


@pytest.mark.parametrize("release", ["0.5.9", "0.5.18", "0.5.23"])
def test_help_and_parser_agree_on_a_whole_release(
    catalogue_of: Callable[[str], FlagCatalogue], release: str
) -> None:
    whole = catalogue_of(release)
    parser = argparse.ArgumentParser(prog="sglang serve", add_help=False)
    for flag in whole.flags:
        _add_like(parser, flag)
    read = from_help(parser.format_help())
    assert [(flag.names, flag.negative, flag.takes, flag.choices) for flag in read.flags] == [
        (flag.names, flag.negative, flag.takes, flag.choices) for flag in whole.flags
    ]


def _add_like(parser: argparse.ArgumentParser, flag: Flag) -> None:
    nargs = {"one": None, "optional": "?", "many": "+"}
    if flag.negative is not None:
        parser.add_argument(*flag.names, action=argparse.BooleanOptionalAction)
    elif flag.takes == "nothing":
        parser.add_argument(*flag.names, action="store_true")
    else:
        parser.add_argument(*flag.names, nargs=nargs[flag.takes], choices=flag.choices)
