"""Where each key of a TOML text stands, so that an error can name its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]
"""A key of a parsed document, outermost part first; list items are counted from 0."""

_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_PATH = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_HEADER = re.compile(rf"[ \t]*(?P<opening>\[\[?)[ \t]*(?P<path>{_PATH})[ \t]*\]")
_ASSIGNMENT = re.compile(rf"[ \t]*(?P<path>{_PATH})[ \t]*=")
_VALUE_PIECE = re.compile(
    r'''"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\#[^\n]*|[^"'#\[\]{}\n]+|.''',
    re.DOTALL,
)


def key_lines(text: str) -> dict[KeyPath, int]:
    """Line, counted from 1, of every table and key of a valid TOML text.

    Keys inside an inline table are not listed: they stand where their table stands.
    """
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    items: dict[KeyPath, int] = {}
    for number, statement in _statements(text):
        if header := _HEADER.match(statement):
            table = _table_path(header, items)
            lines.setdefault(table, number)
            lines.setdefault(tuple(_parts(header["path"])), number)
        elif assignment := _ASSIGNMENT.match(statement):
            lines.setdefault(table + _parts(assignment["path"]), number)
    return lines


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """Line of a key, or of the nearest table around it; None for the document itself."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each line that does not continue a value begun earlier."""
    position, number = 0, 1
    while position < len(text):
        end = _end_of_statement(text, position)
        yield number, text[position:end]
        number += text.count("\n", position, end)
        position = end


def _end_of_statement(text: str, position: int) -> int:
    header = _HEADER.match(text, position)
    if header:
        position = header.end()
    depth = 0
    while piece := _VALUE_PIECE.match(text, position):
        position = piece.end()
        if piece[0] in ("[", "{"):
            depth += 1
        elif piece[0] in ("]", "}"):
            depth = max(0, depth - 1)
        elif piece[0] == "\n" and depth == 0:
            break
    return position


def _table_path(header: re.Match[str], items: dict[KeyPath, int]) -> KeyPath:
    """The header's full path; a repeated table carries its item number, as its children do."""
    path: KeyPath = ()
    parts = _parts(header["path"])
    for place, part in enumerate(parts, start=1):
        path += (part,)
        if place == len(parts) and header["opening"] == "[[":
            items[path] = items.get(path, -1) + 1
        if path in items:
            path += (items[path],)
    return path


def _parts(dotted: str) -> KeyPath:
    parts: list[str | int] = []
    value: object = tomllib.loads(f"{dotted} = 0")
    while isinstance(value, dict):
        part, value = next(iter(value.items()))
        parts.append(part)
    return tuple(parts)
