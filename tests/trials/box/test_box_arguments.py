"""The box refuses and accepts command lines as SGLang's argparse does."""

from __future__ import annotations

import pytest

from trials.box.arguments import human_readable_int, server_parser
from trials.box.description import BoxError

MODEL = ["--model-path", "some/model"]
RELEASES = ["0.5.9", "0.5.18", "0.5.23"]


def refusal(version: str, flags: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as exit_info:
        server_parser(version).parse_args([*MODEL, *flags])
    assert exit_info.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("version", "flags", "words"),
    [
        (
            "0.5.23",
            ["--cuda-graph-max-bs", "16"],
            "sglang serve: error: ambiguous option: --cuda-graph-max-bs could match "
            "--cuda-graph-max-bs-decode, --cuda-graph-max-bs-prefill",
        ),
        (
            "0.5.23",
            ["--no-such-flag", "3"],
            "sglang serve: error: unrecognized arguments: --no-such-flag 3",
        ),
        (
            "0.5.9",
            ["--attn-dp-size", "2"],
            "launch_server.py: error: unrecognized arguments: --attn-dp-size 2",
        ),
        (
            "0.5.23",
            ["--tp-size", "many"],
            "invalid int value: 'many'",
        ),
        ("0.5.23", ["--dtype", "int3"], "argument --dtype: invalid choice: 'int3' (choose from"),
    ],
)
def test_refusals(version: str, flags: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert words in refusal(version, flags, capsys)


def test_the_model_path_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        server_parser("0.5.23").parse_args([])
    assert "the following arguments are required: --model-path/--model" in capsys.readouterr().err


def test_unambiguous_prefixes_work_as_in_argparse() -> None:
    assert server_parser("0.5.23").parse_args([*MODEL, "--tp", "4"]).tp_size == 4


def test_a_deprecated_name_warns_and_stores_under_the_new_one() -> None:
    parsed = server_parser("0.5.18").parse_args([*MODEL, "--cuda-graph-max-bs", "64"])
    assert parsed.cuda_graph_max_bs_decode == 64
    (warning,) = parsed.deprecations
    assert "'--cuda-graph-max-bs' is deprecated" in warning
    assert "Use '--cuda-graph-max-bs-decode' instead." in warning


@pytest.mark.parametrize("version", RELEASES)
def test_help_names_every_flag(version: str) -> None:
    text = server_parser(version).format_help()
    for flag in ("--mem-fraction-static", "--speculative-num-steps", "--moe-a2a-backend", "--port"):
        assert flag in text


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(BoxError, match=r"no flag list of SGLang 0\.4\.1"):
        server_parser("0.4.1")


@pytest.mark.parametrize(("text", "value"), [("8192", 8192), ("2k", 2000), ("1Ki", 1024), ("25.6k", 25600)])
def test_human_readable_int(text: str, value: int) -> None:
    assert human_readable_int(text) == value
