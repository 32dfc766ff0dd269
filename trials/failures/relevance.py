"""A fast look at raw bytes: can anything in them matter to a diagnosis? Most of a long log cannot."""

from __future__ import annotations

from typing import Final

_LITERALS: Final[tuple[bytes, ...]] = (
    # the boot's story: trials.boot_log.wording
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
    # what breaks: trials.failures.signs
    b"Traceback",
    b"Error",
    b"xception: ",
    b"rror: ",
    b"[Errno 98]",
    b"atchdog",
    b"igquit",
    b"SIG",
    b"exit code",
    b"Health check failed",
    b"terminate called",
    b"core dumped",
    b"Segfault",
    b"not found",
    b"No such file",
    b"NCCL WARN",
    b"ProcessGroupNCCL.cpp",
    b"OCI ",
    b"docker: ",
    b"podman: ",
    b"container-cli",
    b"Gracefully exiting",
    b"Shutting down",
    b"Fatal Python",
    b"# autotune stops",
)
"""One of these is in every line that the two tables could match."""

_OF_ONE_REQUEST: Final[tuple[bytes, ...]] = (b"[http_server] Error", b"INFO:     1", b"Skipping tactic")
"""Lines with such words that are nobody's death, and that can fill a log."""


def telling_words(chunk: bytes) -> tuple[bytes, ...]:
    """The words in the bytes that may belong to the boot's story or to a failure; usually none."""
    return tuple(literal for literal in _LITERALS if literal in chunk)


def line_may_matter(line: bytes, words: tuple[bytes, ...]) -> bool:
    """False when a line of a chunk with such words holds none of them, or is of one request."""
    if line.startswith(b"  "):  # frames outside of a traceback that is followed
        return False
    for word in words:
        if word in line:
            return not any(literal in line for literal in _OF_ONE_REQUEST)
    return False
