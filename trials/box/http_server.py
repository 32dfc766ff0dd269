"""A small HTTP/1.1 server on asyncio: keep-alive, JSON, server-sent events, uvicorn's log lines."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from trials.box.console import Console

_MAX_HEAD = 1 << 16


class ClientGoneError(ConnectionError):
    """The client closed the connection before its answer was complete."""


@dataclass
class Request:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body.

        Raises:
            ValueError: If it is no JSON object.
        """
        value = json.loads(self.body or b"{}")
        if not isinstance(value, dict):
            raise ValueError("the body must be a JSON object")
        return value


class Exchange:
    """The answer to one request."""

    def __init__(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, console: Console
    ) -> None:
        self._request = request
        self._reader = reader
        self._writer = writer
        self._console = console

    async def send(self, status: int, body: bytes, content_type: str = "application/json") -> None:
        head = f"content-length: {len(body)}\r\ncontent-type: {content_type}\r\n\r\n"
        self._start(status, head, body)
        await self._writer.drain()

    async def send_json(self, value: object, status: int = 200) -> None:
        await self.send(status, json.dumps(value).encode())

    def start_events(self) -> None:
        """Begin a stream of server-sent events."""
        self._start(
            200, "content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
        )

    async def send_event(self, text: str) -> None:
        """One event.

        Raises:
            ClientGoneError: If nobody listens any more.
        """
        if self._reader.at_eof() or self._writer.is_closing():
            raise ClientGoneError
        data = f"data: {text}\n\n".encode()
        self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self._writer.drain()

    async def end_events(self) -> None:
        await self.send_event("[DONE]")
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    @property
    def client_gone(self) -> bool:
        return self._reader.at_eof() or self._writer.is_closing()

    def reset(self) -> None:
        """Break the connection with a TCP reset."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    def _start(self, status: int, head: str, body: bytes = b"") -> None:
        phrase = HTTPStatus(status).phrase
        host, port = self._writer.get_extra_info("peername")[:2]
        line = f'{host}:{port} - "{self._request.method} {self._request.path} HTTP/1.1" {status} {phrase}'
        self._console.log(f"INFO:     {line}")
        self._writer.write(f"HTTP/1.1 {status} {phrase}\r\nserver: uvicorn\r\n{head}".encode() + body)


Handler = Callable[[Request, Exchange], Awaitable[None]]


class HttpServer:
    """Routes requests to handlers by ``(method, path)``."""

    def __init__(self, routes: dict[tuple[str, str], Handler], console: Console) -> None:
        self._routes = routes
        self._console = console

    async def listen(self, host: str, port: int) -> asyncio.Server:
        """Bind and listen.

        Raises:
            OSError: If the port is taken.
        """
        return await asyncio.start_server(
            self._converse, host, port, limit=_MAX_HEAD, backlog=2048, reuse_address=True
        )

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while request := await _read_request(reader):
                await self._answer(request, Exchange(request, reader, writer, self._console))
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            writer.close()

    async def _answer(self, request: Request, exchange: Exchange) -> None:
        handler = self._routes.get((request.method, request.path))
        if handler:
            await handler(request, exchange)
        elif any(path == request.path for _, path in self._routes):
            await exchange.send_json({"detail": "Method Not Allowed"}, 405)
        else:
            await exchange.send_json({"detail": "Not Found"}, 404)


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {}
    for line in filter(None, lines):
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await _read_body(reader, headers)
    return Request(method, urlsplit(target).path, headers, body)


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", 0)))
    body = b""
    while size := int(await reader.readline(), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readline()
    return body
