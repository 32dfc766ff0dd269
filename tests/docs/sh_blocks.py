"""The shell blocks of a Markdown page, with what a test is to do with each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>instead|not run): (?P<words>.*?) -->\n)?"
    r"(?P<indent> *)```sh\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One block.

    Attributes:
        text: As a reader would type it.
        instead: What the test runs in its place, None for the text itself.
        not_run: Why a test cannot run it, None when it can.
    """

    text: str
    instead: str | None
    not_run: str | None


def blocks_of(page: Path) -> list[Block]:
    """All shell blocks in order; a comment right above one says if it is special."""
    found = []
    for match in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        text = "\n".join(line.removeprefix(match["indent"]) for line in match["text"].splitlines())
        words = match["words"]
        found.append(
            Block(
                text,
                words if match["mark"] == "instead" else None,
                words if match["mark"] == "not run" else None,
            )
        )
    return found
