"""Reads a catalogue out of ``--help``, for servers whose parser cannot be asked directly.

Help tells names, aliases, choices and whether a value follows. Types and defaults stay unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from trials.flags.catalogue import Flag, FlagCatalogue, Takes, negative_of

_USAGE = re.compile(r"^usage:", re.MULTILINE)
_ENTRY = re.compile(r"^ {1,4}(?=-)")
_CONTINUATION = re.compile(r"^ {5,}\S")
_BETWEEN_SPELLINGS = re.compile(r", (?=--?[A-Za-z])")
_CHOICES = re.compile(r"\{([^}]*)\}")
_USE_INSTEAD = re.compile(r"[Uu]se (--[\w-]+(?:=[\w{},-]+)?)")
_DEFAULT = re.compile(r"\(default: (.*?)\)")


def from_help(text: str, version: str | None = None) -> FlagCatalogue:
    """Parse the help of an argparse program.

    Where several programs print their help one after the other (``sglang serve --help`` does), the first
    one that takes a model path counts.

    Raises:
        ValueError: If the text lists no flags.
    """
    flags = tuple(_flag(header, help_) for header, help_ in _entries(_first_program(text)))
    if not flags:
        raise ValueError("its --help lists no flags")
    return FlagCatalogue(flags=flags, version=version)


def _first_program(text: str) -> str:
    starts = [match.start() for match in _USAGE.finditer(text)]
    sections = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    return next((section for section in sections if "--model-path" in section), text)


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Pairs of (``--name METAVAR, --alias METAVAR``, help)."""
    header, words = "", ""
    for line in text.splitlines():
        if _ENTRY.match(line):
            if header:
                yield header, words
            header, _, words = line.strip().partition("  ")
        elif header and _CONTINUATION.match(line):
            # Wrapped lines break after hyphens, in the middle of a flag's name.
            words = words + line.strip() if words.endswith("-") else f"{words} {line.strip()}"
        elif header:
            yield header, words
            header = ""
    if header:
        yield header, words


def _flag(header: str, help_: str) -> Flag:
    spellings, values = [], ""
    for spelling in _BETWEEN_SPELLINGS.split(header):
        name, _, metavar = spelling.partition(" ")
        spellings.append(name)
        values = metavar or values
    long = [name for name in spellings if name.startswith("--")] or spellings
    negative = negative_of(long)
    names = tuple(name for name in long if name != negative)
    choices = _CHOICES.search(values)
    replaced = _USE_INSTEAD.search(help_)
    deprecated = "deprecat" in help_.lower()
    default = _DEFAULT.search(help_)
    return Flag(
        names=names,
        dest=names[0].lstrip("-").replace("-", "_"),
        takes=_takes(values),
        negative=negative,
        choices=None if choices is None else tuple(choices.group(1).split(",")),
        default=None if default is None else default.group(1),
        deprecated=deprecated,
        new_flag=replaced.group(1) if replaced and deprecated else None,
    )


def _takes(values: str) -> Takes:
    """From the metavars: ``X``, ``[X]``, ``X [X ...]``, ``[X ...]`` or nothing."""
    if not values:
        return "nothing"
    if "..." in values:
        return "many"
    return "optional" if values.startswith("[") else "one"
