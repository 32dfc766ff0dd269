"""The ``server_args=`` line as a dict: a dict's text since 0.5.19, ``ServerArgs(...)`` before."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

MARKER = "server_args="

_OPEN = {"(": ")", "[": "]", "{": "}", "<": ">"}
_CLOSE = frozenset(_OPEN.values())
_KEY = re.compile(r"\s*(?:'(?P<quoted>\w+)'\s*:|(?P<plain>\w+)=)\s*")


def parse_server_args(text: str) -> dict[str, Any] | None:
    """Read what stands behind ``server_args=``.

    Nothing is executed. A value that is no plain literal (an object's repr) is kept as its text, and of a
    truncated line everything before the cut is kept.

    Returns:
        Field to value, or None when the text has no ``server_args=`` with fields.
    """
    start = text.find(MARKER)
    if start < 0:
        return None
    body = text[start + len(MARKER) :].strip()
    inner = body.partition("(")[2] if re.match(r"\w*\(", body) else body.removeprefix("{")
    args = {}
    for field in _top_level_fields(inner):
        key = _KEY.match(field)
        if key is not None:
            args[key["quoted"] or key["plain"]] = _literal(field[key.end() :])
    return args or None


def _top_level_fields(text: str) -> Iterator[str]:
    """Split at the commas that are inside no bracket and no string, up to the closing bracket."""
    depth, quote, begin, escaped = 0, "", 0, False
    for index, char in enumerate(text):
        if escaped or char == "\\":
            escaped = not escaped
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            if depth == 0:
                yield text[begin:index]
                return
            depth -= 1
        elif char == "," and depth == 0:
            yield text[begin:index]
            begin = index + 1
    yield text[begin:]


def _literal(text: str) -> Any:
    text = text.strip()
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
