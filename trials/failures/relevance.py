"""A fast look at raw bytes: can anything in them matter to a diagnosis? Most of a long log cannot."""

from __future__ import annotations

from typing import Final

_STORY: Final[tuple[bytes, ...]] = (
    b"server_args=",
    b" mem=",
    b"Cache is allocated",
    b"apture ",
    b"max_total_num",
    b"Uvicorn running",
    b"fired up",
    b"Init ",
    b"is disabled because",
    b"was reduced",
    b"igquit",
    b"SIG",
    b"Gracefully exiting",
    b"Shutting down",
    b"# autotune stops",
)
"""One of these is in every line of the boot's and the stop's story: ``trials.boot_log.wording``."""

_BREAKS: Final[tuple[bytes, ...]] = (
    b"Traceback",
    b"Error",
    b"xception: ",
    b"rror: ",
    b"[Errno 98]",
    b"atchdog",
    b"exit code",
    b"Health check failed",
    b"terminate called",
    b"core dumped",
    b"Segfault",
    b"not found",
    b"No such file",
    b"NCCL WARN",
    b"Process",
    b"Exception in thread",
    b"can't open file",
    b"No module named",
    b"OCI ",
    b"docker: ",
    b"podman: ",
    b"container-cli",
    b"Fatal Python",
)
"""One of these is in every line with which an incident can begin: ``trials.failures.signs``."""

_OF_ONE_REQUEST: Final[tuple[bytes, ...]] = (b"[http_server] Error", b"INFO:     1", b"Skipping tactic")
"""Lines with such words that are nobody's death, and that can fill a log."""


def telling_words(chunk: bytes, *, incidents_wanted: bool) -> tuple[bytes, ...]:
    """The words in the bytes that may belong to the boot's story or to a failure; usually none."""
    wanted = _STORY + _BREAKS if incidents_wanted else _STORY
    return tuple(word for word in wanted if word in chunk)


def starts_of_telling_lines(chunk: bytes, words: tuple[bytes, ...]) -> list[int]:
    """Where the lines begin that hold one of the words and may matter, in order."""
    found: set[int] = set()
    for word in words:
        hit = chunk.find(word)
        while hit >= 0:
            found.add(chunk.rfind(b"\n", 0, hit) + 1)
            end = chunk.find(b"\n", hit)
            hit = -1 if end < 0 else chunk.find(word, end)
    return sorted(start for start in found if _may_matter(chunk, start))


def _may_matter(chunk: bytes, start: int) -> bool:
    if chunk.startswith(b"  ", start):  # frames outside of a traceback that is followed
        return False
    end = chunk.find(b"\n", start)
    return not any(chunk.find(literal, start, end) >= 0 for literal in _OF_ONE_REQUEST)
