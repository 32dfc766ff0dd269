"""A log that many servers wrote one after the other: only the last one counts, so the others are skipped.

A server that restarts all night leaves such logs. The line with its arguments begins a new story once the one
before is over (``diagnose.Reading``): it is enough to read from the last server but one, if its story is over
by then.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import SEEK_END, BufferedIOBase
from typing import Final

_MARKER: Final = b"server_args="
_STEP: Final = 1 << 20


def last_servers_start(stream: BufferedIOBase) -> int:
    """Where the line with the last server's arguments but one begins; 0 with fewer than two.

    Args:
        stream: Plain text that can be sought in; it is left at its beginning.
    """
    found = [position for _, position in zip(range(2), _from_the_end(stream), strict=False)]
    start = _line_start(stream, found[1]) if len(found) == 2 else 0
    stream.seek(0)
    return start


def lines_before(stream: BufferedIOBase, start: int) -> int:
    """How many lines end before a position; the stream is left there."""
    stream.seek(0)
    lines, left = 0, start
    while left:
        chunk = stream.read(min(_STEP, left))
        if not chunk:
            break
        lines += chunk.count(b"\n")
        left -= len(chunk)
    return lines


def _from_the_end(stream: BufferedIOBase) -> Iterator[int]:
    """Positions of the marker, the last one first."""
    end = stream.seek(0, SEEK_END)
    while end > 0:
        begin = max(0, end - _STEP)
        stream.seek(begin)
        # The overlap finds a marker that lies across two pieces, and none of them twice.
        piece = stream.read(end - begin + len(_MARKER) - 1)
        at = piece.rfind(_MARKER)
        while at >= 0:
            yield begin + at
            at = piece.rfind(_MARKER, 0, at)
        end = begin


def _line_start(stream: BufferedIOBase, position: int) -> int:
    while position > 0:
        begin = max(0, position - _STEP)
        stream.seek(begin)
        newline = stream.read(position - begin).rfind(b"\n")
        if newline >= 0:
            return begin + newline + 1
        position = begin
    return 0
