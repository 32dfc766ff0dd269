"""A trial's server log, a page at a time: never loaded whole, whatever its size."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO

PAGE_BYTES = 48 * 1024
_CHUNK = 1 << 20
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
"""Terminal colours and other control characters: noise in a browser."""


@dataclass(frozen=True)
class LogPage:
    """Whole lines of a log.

    Attributes:
        start: Where the page begins, bytes from the log's beginning; the page before it ends there.
        end: Where it ends.
        size: The log's length, bytes (of a compressed one, its text's).
    """

    lines: tuple[str, ...]
    start: int
    end: int
    size: int


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
        file.seek(start)
        page = file.read(end - start)
    if start and b"\n" in page[:-1]:
        cut = page.index(b"\n") + 1
        start, page = start + cut, page[cut:]
    text = _CONTROL.sub("", page.decode("utf-8", errors="replace").replace("\r", "\n"))
    return LogPage(tuple(text.splitlines()), start, end, size)


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
