"""An HTTP/1.1 response of server-sent events, cut into events. No I/O: fed with bytes as they arrive.

Hand-written because the load generator lives on it: at 256 streams a general HTTP client costs more per token
than the server (``make bench-load`` shows by how much).
"""

from __future__ import annotations

_HEAD_END = b"\r\n\r\n"
_LONGEST_HEAD = 65536


class MalformedResponseError(ValueError):
    """The bytes are no HTTP response, or no event stream."""


class ResponseBody:
    """Takes the HTTP framing (head, chunks) off one response.

    Attributes:
        status: HTTP status, None until the head is complete.
        ended: Whether the body is complete by its own framing.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        self.ended = False
        self._rest = b""
        self._chunked = False
        self._left: int | None = None

    def feed(self, data: bytes) -> bytes:
        """The body bytes that ``data`` completes.

        Raises:
            MalformedResponseError: If it is not HTTP/1.x.
        """
        buffer = self._rest + data if self._rest else data
        self._rest = b""
        if self.status is None:
            head, found, body = buffer.partition(_HEAD_END)
            if not found:
                self._keep_head(head)
                return b""
            self._read_head(head)
            buffer = body
        return self._dechunk(buffer) if self._chunked else self._plain(buffer)

    def _keep_head(self, head: bytes) -> None:
        if len(head) > _LONGEST_HEAD or not head.startswith(b"HTTP/1."[: len(head)]):
            raise MalformedResponseError(f"no HTTP response: {head[:60]!r}")
        self._rest = head

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.split(b"\r\n")
        words = first.split(None, 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            raise MalformedResponseError(f"no HTTP status line: {first[:60]!r}")
        self.status = int(words[1])
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (x.partition(b":") for x in lines)
        }
        self._chunked = headers.get(b"transfer-encoding", b"").lower() == b"chunked"
        length = headers.get(b"content-length", b"")
        self._left = int(length) if length.isdigit() else None
        self.ended = self._left == 0

    @property
    def framed(self) -> bool:
        """Whether the head said where the body ends; else it ends with the connection."""
        return self._chunked or self._left is not None

    def _plain(self, data: bytes) -> bytes:
        if self._left is not None:
            self._left -= len(data)
            self.ended = self._left <= 0
        return data

    def _dechunk(self, buffer: bytes) -> bytes:
        pieces = []
        start = 0
        while (line_end := buffer.find(b"\r\n", start)) >= 0:
            size = _chunk_size(buffer[start:line_end])
            body_end = line_end + 2 + size
            if len(buffer) < body_end + 2:
                break
            if size == 0:
                self.ended = True
                break
            pieces.append(buffer[line_end + 2 : body_end])
            start = body_end + 2
        self._rest = buffer[start:]
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _chunk_size(line: bytes) -> int:
    try:
        return int(line.partition(b";")[0], 16)
    except ValueError:
        raise MalformedResponseError(f"no chunk size: {line[:60]!r}") from None


class EventSplitter:
    """Cuts a body into the data of its events; comments and other fields are dropped."""

    def __init__(self) -> None:
        self._partial = b""

    def feed(self, body: bytes) -> list[bytes]:
        """Data of every event that ``body`` completes, in order.

        Raises:
            MalformedResponseError: If a line is not of an event stream.
        """
        if b"\r" in body:
            body = body.replace(b"\r\n", b"\n")
        *events, self._partial = (self._partial + body if self._partial else body).split(b"\n\n")
        return [data for event in events if (data := _event_data(event)) is not None]


def _event_data(event: bytes) -> bytes | None:
    if event.startswith(b"data:") and b"\n" not in event:
        return event[5:].strip()
    data = None
    for line in event.splitlines():
        name, colon, value = line.partition(b":")
        if name == b"data":
            data = value.strip() if data is None else data + b"\n" + value.strip()
        elif not colon or name not in (b"", b"event", b"id", b"retry"):
            raise MalformedResponseError(f"no server-sent event: {line[:60]!r}")
    return data
