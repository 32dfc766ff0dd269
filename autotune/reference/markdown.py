"""Markdown out of data and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence

GENERATED = "Generated from the code by `make docs`; change the code, not this page."


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def plain(text: str) -> str:
    """A docstring's words: double backquotes become single ones, line breaks spaces."""
    return " ".join(text.replace("``", "`").split())


def first_paragraph(thing: object) -> str:
    return plain((inspect.getdoc(thing) or "").split("\n\n", 1)[0])


def attribute_words(thing: object) -> Mapping[str, str]:
    """What a class says about its attributes in its own docstring."""
    section = (inspect.getdoc(thing) or "").partition("Attributes:\n")[2].partition("\n\n")[0]
    entries = re.split(r"\n(?=    \w+:)", "\n" + section)
    pairs = (entry.strip().partition(":") for entry in entries if entry.strip())
    return {name: plain(words) for name, _, words in pairs}


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
