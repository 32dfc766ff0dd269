"""Every command in the documentation runs, or says why it cannot and is at least spelt as it should be."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autotune.reference import PAGES
from tests.docs.sh_blocks import Block, blocks_of
from tests.e2e.box_study import small_study

ROOT = Path(__file__).parents[2]
TEXTS = sorted((ROOT / "docs").glob("*.md"))
WITH_COMMANDS = [page for page in TEXTS if blocks_of(page)]

QUICK = small_study("quick", trials=6, levels=(1, 8))
SGLANG = """\
#!/bin/sh
# What a reader has installed: here the simulated box.
[ "$1" = serve ] && shift
exec "{python}" -m trials.box kimi-k2.5-8x-rtx-pro-6000 "$@"
"""
AUTOTUNE = '#!/bin/sh\nexec "{python}" -m autotune "$@"\n'


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_STATE_HOME": str(folder / "state"),
    }


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", script],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a reader's: SGLang, autotune, and a study that is done."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "bin").mkdir()
    for name, text in (("sglang", SGLANG), ("autotune", AUTOTUNE)):
        program = folder / "bin" / name
        program.write_text(text.format(python=sys.executable))
        program.chmod(0o755)
    (folder / "quick.toml").write_text(QUICK)
    night = shell("autotune run quick.toml --no-dashboard", folder)
    assert night.returncode == 0, night.stdout + night.stderr
    return folder


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_the_commands_of_a_page_run_one_after_the_other(page: Path, finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    shutil.copytree(finished, folder)
    for block in blocks_of(page):
        if block.not_run:
            continue
        run = shell(block.instead or block.text, folder)
        assert run.returncode == 0, f"{block.text}\n{run.stdout[-3000:]}\n{run.stderr[-3000:]}"


def all_blocks() -> list[tuple[str, Block]]:
    pages = [ROOT / "README.md", *WITH_COMMANDS]
    return [(page.name, block) for page in pages for block in blocks_of(page)]


@pytest.mark.parametrize(
    ("page", "block"), all_blocks(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_command_is_spelt_as_the_program_has_it(page: str, block: Block) -> None:
    assert subprocess.run(["bash", "-n", "-c", block.text], check=False).returncode == 0
    for name, options in re.findall(r"^autotune ([\w-]+)(.*)$", block.text, flags=re.MULTILINE):
        section = PAGES["cli.md"]().partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert section, f"{page}: there is no command {name}"
        for option in re.findall(r"(?<= )--[a-z][\w-]*", re.sub(r"'[^']*'?|#.*", "", options)):
            assert f"`{option}" in section, f"{page}: autotune {name} has no {option}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in TEXTS:
        for target in re.findall(r"\]\(([\w./-]+\.md)\)", page.read_text()):
            assert (page.parent / target).is_file(), f"{page.name} links to {target}"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    assert {page.name for page in TEXTS} - {"README.md"} == set(re.findall(r"\]\(([\w-]+\.md)\)", index))


def test_blocks_are_found_with_what_stands_above_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\na\n```\n<!-- instead: b c -->\n```sh\nB\n```\n<!-- not run: why -->\n   ```sh\n   x\n   ```\n"
    )
    assert blocks_of(page) == [Block("a", None, None), Block("B", "b c", None), Block("x", None, "why")]
