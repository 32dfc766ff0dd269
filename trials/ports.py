"""A port for the next server that nobody else has, had or will be given."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection
from pathlib import Path

_LOWEST = 10_000
# SGLang takes ports of its own above the one it is given: up to 1000 for NCCL, some more for its queues.
_ROOM_ABOVE = 1_300
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_DEFAULT_EPHEMERAL = (32_768, 60_999)


class NoFreePortError(RuntimeError):
    """Every port that may be used is taken or was used before."""


def fresh_port(avoid: Collection[int]) -> int:
    """A port outside the kernel's ephemeral range that is free on 127.0.0.1 and on every address.

    Args:
        avoid: Ports used before: a server on the port of one that was killed can hang.

    Raises:
        NoFreePortError: If none is left.
    """
    candidates = [port for port in usable_ports(ephemeral_range()) if port not in avoid]
    # At random, so that two nights on one machine rarely want the same one.
    random.SystemRandom().shuffle(candidates)
    for port in candidates:
        if is_free(port):
            return port
    raise NoFreePortError(
        "no free port is left for a server; end programs that listen, or narrow the ephemeral range"
    )


def usable_ports(ephemeral: tuple[int, int]) -> range:
    """The wider part of the ports below and above the ephemeral range, with room for SGLang's own ports."""
    low, high = ephemeral
    below, above = range(_LOWEST, low - _ROOM_ABOVE), range(high + 1, 65_536 - _ROOM_ABOVE)
    return max(below, above, key=len) or range(_LOWEST, 65_536 - _ROOM_ABOVE)


def ephemeral_range() -> tuple[int, int]:
    """First and last port that the kernel gives to outgoing connections."""
    try:
        low, high = map(int, _EPHEMERAL.read_text().split())
    except (OSError, ValueError):
        return _DEFAULT_EPHEMERAL
    return low, high


def is_free(port: int) -> bool:
    """True when the port can be bound on the loopback and on the wildcard address."""
    for address in ("127.0.0.1", "0.0.0.0"):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.bind((address, port))
            except OSError:
                return False
    return True
