"""A fast look at raw bytes: can anything in them matter to a diagnosis? Most of a long log cannot."""

from __future__ import annotations

from typing import Final

_LITERALS: Final[tuple[bytes, ...]] = (
    b"rror",  # Error, error:, [Errno does not contain it
    b"Errno",
    b"xception",
    b"Traceback",
    b"server_args=",
    b"fired up",
    b" mem=",  # Load weight, Memory pool, Capture
    b"Cache is allocated",
    b"apture ",
    b"max_total_num",
    b"Uvicorn running",
    b"Init ",
    b"atchdog",
    b"exit code",
    b"igquit",
    b"SIG",
    b"Health check failed",
    b"terminate called",
    b"fault",
    b"not found",
    b"OCI ",
    b"is disabled because",
    b"was reduced",
)
"""One of these is in every line that ``signs``, ``wording`` or a family's bare line could match."""


def may_matter(data: bytes) -> bool:
    """False when nothing in the bytes can be part of the boot's story or of a failure."""
    return any(literal in data for literal in _LITERALS)
