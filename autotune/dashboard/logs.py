"""A trial's server log, a page at a time: never loaded whole, whatever its size."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

PAGE_BYTES = 48 * 1024
MOST_HITS = 200
_CHUNK = 1 << 17
_LINES_BEFORE = 20
_LONGEST_LINE = 4000
_LINE_END = re.compile(rb"\r\n|\n|\r")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
"""Terminal colours and other control characters: noise in a browser."""


@dataclass(frozen=True)
class LogPage:
    """Whole lines of a log.

    Attributes:
        start: Where the page begins, bytes from the log's beginning; the page before it ends there.
        end: Where it ends.
        size: The log's length, bytes (of a compressed one, its text's).
        first_line: Number of the first line; the log's first is 1.
    """

    lines: tuple[str, ...]
    start: int
    end: int
    size: int
    first_line: int


@dataclass(frozen=True)
class LogHit:
    """A line that holds what was searched for."""

    line: int
    text: str


def find_log(trial_folder: Path) -> Path | None:
    """The server's log, compressed or not, None when there is none."""
    names = ("server.log", "server.log.gz")
    return next((trial_folder / name for name in names if (trial_folder / name).is_file()), None)


def read_log_page(path: Path, end: int | None = None) -> LogPage:
    """Lines before byte ``end``, a page of them; left out, the last ones.

    Raises:
        OSError: If the log cannot be read, or is no valid gzip file.
    """
    size = _text_size(path)
    end = size if end is None else max(0, min(end, size))
    start = max(0, end - PAGE_BYTES)
    with _open(path) as file:
        lines_before = _count_lines(file, start)
        page = file.read(end - start)
    if start and b"\n" in page[:-1]:
        cut = page.index(b"\n") + 1
        start, page, lines_before = start + cut, page[cut:], lines_before + 1
    return LogPage(_shown(page), start, end, size, lines_before + 1)


def read_log_around(path: Path, line: int) -> LogPage:
    """The page that holds a line, with a few lines before it; past the end, the last page.

    Raises:
        OSError: As ``read_log_page``.
    """
    first = max(1, line - _LINES_BEFORE)
    with _open(path) as file:
        start, found = _seek_line(file, first)
        page = file.read(PAGE_BYTES)
    if not found or not page:
        return read_log_page(path)
    size = _text_size(path)
    if start + len(page) < size and b"\n" in page:
        page = page[: page.rindex(b"\n") + 1]
    return LogPage(_shown(page), start, start + len(page), size, first)


def read_log_after(path: Path, start: int) -> LogPage:
    """Whole lines from byte ``start`` on, a page at most; for a reader who follows the log.

    ``first_line`` is 0: whoever follows has counted.

    Raises:
        OSError: As ``read_log_page``.
    """
    size = _text_size(path)
    start = max(0, min(start, size))
    with _open(path) as file:
        file.seek(start)
        page = file.read(PAGE_BYTES)
    whole, newline, rest = page.rpartition(b"\n")
    if not newline:
        whole = rest if len(rest) >= PAGE_BYTES else b""
    end = start + len(whole) + len(newline)
    return LogPage(_shown(whole), start, end, size, 0)


def search_log(path: Path, text: str) -> list[LogHit]:
    """The first lines that hold ``text``, whatever its case; at most ``MOST_HITS``.

    Raises:
        OSError: As ``read_log_page``.
    """
    wanted = text.casefold().encode()
    hits: list[LogHit] = []
    with _open(path) as file:
        first = 1
        for chunk in file:
            if not text.isascii() or wanted in chunk.lower():
                hits += _hits(chunk, first, text.casefold())
                if len(hits) >= MOST_HITS:
                    return hits[:MOST_HITS]
            first += _ends(chunk)
    return hits


def last_lines(path: Path, count: int) -> tuple[str, ...]:
    """The newest lines of a log that is still being written.

    Raises:
        OSError: If it cannot be read.
    """
    if path.suffix == ".gz":
        return ()
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - count * 400))
        return _shown(file.read())[-count:]


def _hits(chunk: bytes, first: int, wanted: str) -> list[LogHit]:
    lines = enumerate(_shown(chunk), first)
    return [LogHit(number, line) for number, line in lines if wanted in line.casefold()]


def _shown(page: bytes) -> tuple[str, ...]:
    """Lines as failures number them: a lone carriage return, with which bars redraw, ends one too."""
    text = page.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.removesuffix("\n").split("\n") if text else []
    return tuple(_CONTROL.sub("", line)[:_LONGEST_LINE] for line in lines)


def _ends(page: bytes) -> int:
    return page.count(b"\n") + page.count(b"\r") - page.count(b"\r\n")


def _count_lines(file: IO[bytes], end: int) -> int:
    """Line ends before byte ``end``, where the file is left."""
    lines, at = 0, 0
    while at < end and (chunk := file.read(min(_CHUNK, end - at))):
        lines += _ends(chunk)
        at += len(chunk)
    return lines


def _seek_line(file: IO[bytes], first: int) -> tuple[int, bool]:
    """Go to the beginning of a line; False if the log has not so many."""
    at, missing = 0, first - 1
    while missing and (chunk := file.read(_CHUNK)):
        if chunk.endswith(b"\r"):
            # It may be the first half of a line end.
            chunk += file.read(1)
        ends = _ends(chunk)
        if ends >= missing:
            *_, last = islice(_LINE_END.finditer(chunk), missing)
            at, missing = at + last.end(), 0
        else:
            at, missing = at + len(chunk), missing - ends
    file.seek(at)
    return at, not missing


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _text_size(path: Path) -> int:
    if path.suffix != ".gz":
        return path.stat().st_size
    size = 0
    with gzip.open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
    return size
