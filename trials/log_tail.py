"""Reads a growing log file line by line, whatever is in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_CHUNK = 1 << 18
_MOST_AT_ONCE = 8 << 20
"""What takes a second to read on a slow machine: a flood must not keep its reader from anything else."""
_CUT = " …"


class LogTail:
    """Follows a file that another process appends to.

    Progress bars end their lines with a carriage return, which counts as a line end here. A file that shrinks
    was truncated and is read again from its beginning.
    """

    def __init__(self, path: Path, *, max_line: int = 16_384) -> None:
        self._path = path
        self._max_line = max_line
        self._offset = 0
        self._part = b""

    @property
    def offset(self) -> int:
        """Bytes read so far: it grows as long as the server says anything at all."""
        return self._offset

    def lines(self) -> Iterator[str]:
        """Complete lines since the last call, each cut at ``max_line`` bytes; none while there is no file.

        What is written meanwhile, or is too much, is left for the next call.
        """
        for chunk in self._new_bytes():
            # A bar that is redrawn as \r\n at a chunk's border gives an empty line, which hurts nobody.
            *complete, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
            for line in complete:
                yield self._text(self._part + line)
                self._part = b""
            # One byte above the limit is kept, so that the cut shows.
            self._part = (self._part + rest)[: self._max_line + 1]

    def rest(self) -> Iterator[str]:
        """Like ``lines``, and the last line even without its end: for a log that will not grow any more."""
        yield from self.lines()
        if self._part:
            yield self._text(self._part)
            self._part = b""

    def _new_bytes(self) -> Iterator[bytes]:
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return
        with file:
            size = os.fstat(file.fileno()).st_size
            if size < self._offset:
                self._offset, self._part = 0, b""
            file.seek(self._offset)
            end = min(size, self._offset + _MOST_AT_ONCE)
            while chunk := file.read(min(_CHUNK, end - self._offset)):
                self._offset += len(chunk)
                yield chunk

    def _text(self, line: bytes) -> str:
        text = line[: self._max_line].decode("utf-8", errors="replace")
        return text + _CUT if len(line) > self._max_line else text
