"""Flags that change nothing are left out, and only those."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from autotune.export import FORMATS, ExportInput
from autotune.export.minimal import OtherServerError, minimal
from tests.autotune.export.test_export_formats import EXPORTED
from trials.flags import FlagCatalogue

FLAGS = Path(__file__).parents[2] / "trials" / "flags" / "flags-0.5.23.json"
PROGRAM = ("python", "-m", "sglang.launch_server")


@pytest.fixture(scope="module")
def catalogue() -> FlagCatalogue:
    return FlagCatalogue.from_dump(json.loads(FLAGS.read_text()))


def exported(*flags: str, **changes: Any) -> ExportInput:
    return dataclasses.replace(EXPORTED, argv=(*PROGRAM, *flags), **changes)


@pytest.mark.parametrize(
    "flags",
    [
        ("--tp-size", "1"),
        ("--tensor-parallel-size", "1"),
        ("--ep-size=1",),
        ("--schedule-conservativeness", "1"),
        ("--schedule-conservativeness", "1.00"),
        ("--dtype", "auto"),
    ],
)
def test_a_default_that_is_written_out_is_left_out(flags: tuple[str, ...], catalogue: FlagCatalogue) -> None:
    short = minimal(exported("--model-path", "m", *flags), catalogue)
    assert short.argv == (*PROGRAM, "--model-path", "m")
    assert short.left_out == flags


@pytest.mark.parametrize(
    "flags",
    [
        ("--tp-size", "2"),
        ("--schedule-conservativeness", "0.3"),
        ("--mem-fraction-static", "0.88"),  # the server's default is its own choice: nothing is proven
        ("--trust-remote-code",),
        ("--dtype", "bfloat16"),
        ("--host", "127.0.0.1", "--port", "30000"),
    ],
)
def test_everything_else_stays(flags: tuple[str, ...], catalogue: FlagCatalogue) -> None:
    given = exported("--model-path", "m", *flags)
    short = minimal(given, catalogue)
    assert short.argv == given.argv
    assert short.left_out == ()


def test_what_the_server_replaced_keeps_its_flag(catalogue: FlagCatalogue) -> None:
    given = exported("--ep-size", "1", settings={"layout": "tp1"}, ran={"layout": "tp1-ep8"})
    assert minimal(given, catalogue).argv == given.argv


def test_defaults_of_another_version_prove_nothing(catalogue: FlagCatalogue) -> None:
    given = exported("--tp-size", "1", versions={"sglang": "0.5.9"})
    with pytest.raises(OtherServerError, match=r"measured SGLang 0\.5\.9 and 0\.5\.23 is installed"):
        minimal(given, catalogue)


def test_the_export_says_what_was_left_out(catalogue: FlagCatalogue) -> None:
    text = FORMATS["sh"].write(minimal(exported("--model-path", "m", "--tp-size", "1"), catalogue))
    assert "# Left out, since the server does the same without: --tp-size 1." in text
    assert "--tp-size" not in text.split("exec", 1)[1]
