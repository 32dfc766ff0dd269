"""The box files."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from trials.box.arguments import server_parser
from trials.box.description import BoxError, box_names, load_box

FIGURE = re.compile(r"^\s*\"?[\w.=-]+\"?\s*=\s*(?:\[?\[?-?\d)")
KIMI = "kimi-k2.5-8x-rtx-pro-6000"


def text_of(box: str) -> str:
    return (resources.files("trials.box.boxes") / f"{box}.toml").read_text()


@pytest.mark.parametrize("name", box_names())
def test_every_packaged_box_is_valid_and_imitates_a_known_release(name: str) -> None:
    box = load_box(name)
    server_parser(box.sglang_version)
    assert all(curve.points == tuple(sorted(curve.points)) for curve in box.speed.curves)


@pytest.mark.parametrize("name", box_names())
def test_every_figure_says_where_it_comes_from(name: str) -> None:
    """A comment on the figure's own line or on the heading of its block."""
    heading = ""
    for line in text_of(name).splitlines():
        heading = line if line.startswith("[") else heading
        if FIGURE.match(line):
            assert "#" in line or "#" in heading, f"{name}: no source for: {line}"


def test_a_box_extends_another() -> None:
    base, patched = load_box(KIMI), load_box(f"{KIMI}-patched")
    assert patched.custom_all_reduce_forced
    assert patched.speed == base.speed


def test_unknown_names_and_keys_are_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BoxError, match=r"no box 'nothing'; write one of .*demo"):
        load_box("nothing")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('extends = "demo"\n[cards]\nmemory_mb = 3\n')
    with pytest.raises(BoxError, match=r"key cards\.memory_mb"):
        load_box(str(wrong))
    wrong.write_text("a = = b")
    with pytest.raises(BoxError, match="not valid TOML"):
        load_box(str(wrong))


def test_the_box_needs_nothing_heavy() -> None:
    heavy = ("torch", "numpy", "fastapi", "uvicorn", "aiohttp", "httpx", "optuna", "sqlalchemy")
    imports = "import sys, trials.box.__main__, trials.box.serving"
    code = f"{imports}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
