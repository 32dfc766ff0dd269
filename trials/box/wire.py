"""Messages between the launcher and its children: length-prefixed marshal over a socket pair."""

from __future__ import annotations

import marshal
import socket
import struct
from typing import Any

_HEADER = struct.Struct("<I")


def pack(message: tuple[Any, ...]) -> bytes:
    body = marshal.dumps(message)
    return _HEADER.pack(len(body)) + body


def send(sock: socket.socket, message: tuple[Any, ...]) -> None:
    """Send one message.

    Raises:
        OSError: If the other side is gone.
    """
    sock.sendall(pack(message))


class Inbox:
    """Cuts a byte stream into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[Any, ...]]:
        self._buffer += data
        messages = []
        while len(self._buffer) >= _HEADER.size:
            (length,) = _HEADER.unpack_from(self._buffer)
            end = _HEADER.size + length
            if len(self._buffer) < end:
                break
            messages.append(marshal.loads(bytes(self._buffer[_HEADER.size : end])))
            del self._buffer[:end]
        return messages
