"""Which sockets listen, and whose they are. Works as an ordinary user for that user's processes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from trials.process_table import PROC, OsProcess

_LISTEN = "0A"
_TABLES = ("tcp", "tcp6")
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def listening_sockets() -> dict[int, int]:
    """Socket inode -> port of every TCP socket that listens in our network namespace."""
    found: dict[int, int] = {}
    for name in _TABLES:
        try:
            lines = (PROC / "net" / name).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == _LISTEN:
                found[int(fields[9])] = int(fields[1].rpartition(":")[2], 16)
    return found


def sockets_of(processes: Iterable[OsProcess], listening: Mapping[int, int]) -> set[int]:
    """Inodes among ``listening`` that one of the processes holds open."""
    return {inode for process in processes for inode in _open_sockets(process.pid) if inode in listening}


def _open_sockets(pid: int) -> set[int]:
    try:
        descriptors = list((PROC / str(pid) / "fd").iterdir())
    except OSError:
        return set()
    targets = map(_target, descriptors)
    return {int(match[1]) for target in targets if (match := _SOCKET.fullmatch(target))}


def _target(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except OSError:
        return ""
