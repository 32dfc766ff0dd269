"""Raw output to clean lines: colours, progress bars, container prefixes and rank tags taken apart."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

MAX_LINE = 1 << 16
"""Characters of a line that are kept. ``server_args`` of 0.5.23 has about 17,000."""

_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-Z\\-_])")
_STAMP = re.compile(
    r"\[(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,]\d+)?"
    r"(?P<tags>(?: [A-Z][A-Z_]*\d+)*)\] ?"
    r"(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) [\w./-]+:\d+: |\[(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\] )?"
)
_GLUED = re.compile(r"(?<=.)(?=\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]{0,40}\] )", re.DOTALL)
_CONTAINER = re.compile(
    r"(?:[\w.-]{1,64} +\| ?)?"  # docker compose: "sglang-1  | "
    r"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) (?:std(?:out|err) [FP] )?)?"
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,64} [\w.@/-]{1,64}(?:\[\d+\])?: )?"  # journald
    r"(?:\([\w:.]{1,64} pid=\d+(?:, ip=[\d.]+)?\) ?)?"  # Ray
)


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line without its prefix.

    Attributes:
        text: What was said.
        stamped: True where SGLang's own logger wrote the line (it had a time stamp).
        stamp: Its time, s since 1970 of the log's own zone, or None.
        rank: Its tags, e.g. "TP0" or "DP1 TP3 EP3", empty without.
    """

    text: str
    stamped: bool = False
    stamp: float | None = None
    rank: str = ""


def split_lines(raw: str | bytes) -> list[LogLine]:
    """Take one line of output apart into the lines that it holds.

    A progress bar redraws itself with carriage returns, and another rank's line may be glued to its end:
    both hide several lines in one.
    """
    text = raw if isinstance(raw, str) else raw.decode("utf-8", "replace")
    text = _without_noise(text[:MAX_LINE])
    if "\r" not in text and text.find("[20", 1) < 0:
        return [_parse(text)]
    return [_parse(part) for piece in text.split("\r") for part in _unglued(piece)]


def _unglued(piece: str) -> list[str]:
    """A piece cut before every time stamp inside; a container's prefix is no line of its own."""
    parts = _GLUED.split(piece)
    if len(parts) > 1 and _CONTAINER.fullmatch(parts[0]):
        return parts[1:]
    return parts


def _without_noise(text: str) -> str:
    text = text.rstrip("\r\n")
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    if "\0" in text:
        text = text.replace("\0", "")
    if text.startswith('{"log":"'):
        text = _docker_json(text)
    return text


def _docker_json(text: str) -> str:
    """The line inside Docker's json-file log format, or the text as it is."""
    try:
        inner = json.loads(text)["log"]
    except (ValueError, KeyError, TypeError):
        return text
    return _without_noise(inner) if isinstance(inner, str) else text


def _parse(piece: str) -> LogLine:
    match = _STAMP.match(piece)
    if match is None and piece[:1] not in (" ", "\t", ""):
        prefix = _CONTAINER.match(piece)
        if prefix is not None and prefix.end():
            piece = piece[prefix.end() :]
            match = _STAMP.match(piece)
    if match is None:
        return LogLine(piece)
    return LogLine(
        piece[match.end() :],
        stamped=True,
        stamp=_seconds(match["stamp"]),
        rank=match["tags"].strip(),
    )


@lru_cache(maxsize=8)
def _seconds(stamp: str) -> float | None:
    """Seconds since 1970 as if the log's clock were UTC."""
    try:
        return datetime.fromisoformat(stamp).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
