"""Logs as they lie around: compressed, cut off, coloured, with binary junk, of any length."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections import deque
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Final, cast

from trials.failures.diagnose import Reading, conclude
from trials.failures.facts import MachineFacts
from trials.failures.many_servers import last_servers_start, lines_before
from trials.failures.relevance import starts_of_telling_lines, telling_words
from trials.failures.verdict import Diagnosis
from trials.outcome import Stage
from trials.settings import Settings

CHUNK: Final = 1 << 17
"""Bytes that are looked at together: a chunk in which nothing can matter is only counted."""

MAX_LINE: Final = 1 << 16

HEAD_LINES: Final = 500
"""Lines from the start that are always read: the clock of the boot begins with the first of them."""

_MAGIC: Final = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


class LogError(ValueError):
    """A log that cannot be read; says why in one sentence."""


def diagnose_file(
    path: Path,
    *,
    exit_code: int | None = None,
    stage: Stage | None = None,
    settings: Settings | None = None,
    facts: MachineFacts | None = None,
) -> Diagnosis:
    """Say what became of the server that wrote a log file. Arguments as for ``diagnose``.

    Raises:
        LogError: As ``read_log``.
    """
    return conclude(read_log(path), exit_code=exit_code, stage=stage, settings=settings, facts=facts)


def read_log(path: Path) -> Reading:
    """Read a log file to its end.

    gzip, bzip2, xz and (Python 3.14 and later) zstd files are recognised by their first bytes, whatever
    their name. Memory stays under some 50 MB whatever the length.

    Raises:
        LogError: If the file cannot be opened, or is compressed in a way that this Python cannot read.
    """
    try:
        with _opened(path) as stream:
            before = 0 if _packing(path) else last_servers_start(stream)
            reading = _read_from(stream, before)
            if before and not reading.begun_anew:
                stream.seek(0)
                reading = _read_from(stream, 0)
    except OSError as error:
        raise LogError(f"{path}: cannot be read: {error.strerror or error}") from error
    return reading


def _read_from(stream: BufferedIOBase, start: int) -> Reading:
    """Read to the end; what stands before ``start`` is only counted."""
    reading = Reading()
    number = lines_before(stream, start) if start else 0
    for at, line in _relevant_lines(stream, reading, number):
        reading.feed(at, line)
    return reading


def _relevant_lines(stream: BufferedIOBase, reading: Reading, number: int) -> Iterator[tuple[int, bytes]]:
    """The lines that can matter, with their numbers. Everything counts while a traceback is open.

    Args:
        number: Of the line before the first that the stream gives.
    """
    for chunk in _whole_lines(stream):
        words = telling_words(chunk, incidents_wanted=not reading.incidents.full)
        telling = deque(starts_of_telling_lines(chunk, words))
        start = 0
        while start < len(chunk):
            if number >= HEAD_LINES and not reading.incidents.inside:
                next_start = _first_from(telling, start, otherwise=len(chunk))
                number += chunk.count(b"\n", start, next_start)
                start = next_start
                if start == len(chunk):
                    break
            end = chunk.find(b"\n", start)
            end = len(chunk) if end < 0 else end
            number += 1
            yield number, chunk[start : min(end, start + MAX_LINE)]
            start = end + 1


def _first_from(starts: deque[int], position: int, *, otherwise: int) -> int:
    """The first of the starts that is not before the position; those before it are dropped."""
    while starts and starts[0] < position:
        starts.popleft()
    return starts[0] if starts else otherwise


def _whole_lines(stream: BufferedIOBase) -> Iterator[bytes]:
    """Chunks that end with a line. A line without end is cut, so that junk cannot fill the memory."""
    rest = b""
    while chunk := _read(stream):
        end = chunk.rfind(b"\n") + 1
        if end == 0 and len(rest) < 8 * CHUNK:
            rest += chunk
            continue
        yield rest + chunk[:end] if end else rest + chunk + b"\n"
        rest = chunk[end:] if end else b""
    if rest:
        yield rest


def _read(stream: BufferedIOBase) -> bytes:
    """The next chunk; a compressed file that was cut off ends where it was cut."""
    parts, size = [], 0
    try:
        while size < CHUNK and (part := stream.read1(CHUNK)):
            parts.append(part)
            size += len(part)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile):
        pass
    return b"".join(parts)


def _packing(path: Path) -> str | None:
    with path.open("rb") as plain:
        start = plain.read(6)
    return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)


def _opened(path: Path) -> BufferedIOBase:
    packing = _packing(path)
    if packing == "gzip":
        return cast(BufferedIOBase, gzip.open(path))
    if packing == "bzip2":
        return bz2.open(path)
    if packing == "xz":
        return lzma.open(path)
    if packing == "zstd":
        return _opened_zstd(path)
    return path.open("rb")


def _opened_zstd(path: Path) -> BufferedIOBase:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14
    except ImportError:
        raise LogError(f"{path}: is zstd; unpack it first (`zstd -d`), Python before 3.14 cannot") from None
    return cast(BufferedIOBase, zstd.open(path))
