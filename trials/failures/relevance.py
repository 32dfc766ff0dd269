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


def line_may_matter(line: bytes, words: tuple[bytes, ...]) -> bool:
    """False when a line of a chunk with such words holds none of them, or is of one request."""
    if line.startswith(b"  "):  # frames outside of a traceback that is followed
        return False
    for word in words:
        if word in line:
            return not any(literal in line for literal in _OF_ONE_REQUEST)
    return False
