"""A server that speaks SGLang's streaming HTTP at an exactly known pace.

``python -m trials.testing.paced_server --port 0`` prints its address and serves as fast as it can.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import threading
from collections.abc import Iterator
from functools import cache
from types import TracebackType
from typing import Any

from trials.testing.pace import Fault, Pace

_OK_STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    b"connection: close\r\n\r\n"
)
_LAST_CHUNK = b"0\r\n\r\n"
_PROMPT_TOKENS = 20
_BURST_EVENTS = 16


class PacedServer:
    """Runs in a thread of its own; a context manager.

    Attributes:
        requests: Payloads of all streams asked for, in order of arrival.
        flushes: How often the cache was flushed.
    """

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.requests: list[dict[str, Any]] = []
        self.flushes = 0
        self._first_request: float | None = None
        self._slots: asyncio.Semaphore | None = None
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> PacedServer:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.listen(0), self._loop).result(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def listen(self, port: int) -> None:
        if self.pace.slots is not None:
            self._slots = asyncio.Semaphore(self.pace.slots)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, backlog=4096)

    async def _shut(self) -> None:
        assert self._server is not None
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(
                (int(x[15:]) for x in head.split("\r\n") if x.lower().startswith("content-length:")), 0
            )
            payload = json.loads(await reader.readexactly(length) or b"{}")
            await self._answer(head.split(" ")[1].partition("?")[0], payload, writer)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the other side hung up, or this server is being shut
        finally:
            writer.close()

    async def _answer(self, path: str, payload: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if path == "/flush_cache":
            self.flushes += 1
            writer.write(_plain(200, "Cache flushed."))
        elif self.pace.fault is Fault.REFUSE or (self.pace.fault is Fault.NO_TEMPLATE and "chat" in path):
            writer.write(_plain(self.pace.refuse_status, self.pace.refuse_body))
        elif payload.get("stream"):
            await self._stream(path, payload, writer)
        elif path == "/generate":
            await asyncio.sleep(self.pace.first_token_s)
            writer.write(_plain(200, json.dumps({"text": " word", "meta_info": {"completion_tokens": 1}})))
        else:
            writer.write(_plain(200, "{}"))

    async def _stream(self, path: str, payload: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        self.requests.append(payload)
        if self._slots is None:
            await self._tokens(path, payload, writer)
            return
        async with self._slots:
            await self._tokens(path, payload, writer)

    async def _tokens(self, path: str, payload: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        chat = "chat" in path
        counted = not chat or bool((payload.get("stream_options") or {}).get("continuous_usage_stats"))
        asked = int(
            payload.get("max_tokens")
            or payload.get("max_completion_tokens")
            or payload["sampling_params"]["max_new_tokens"]
        )
        writer.write(_OK_STREAM)
        if chat:
            writer.write(_role_event())
        steps = self._steps if self.pace.step_s else self._bursts
        out = await steps(asked, chat, counted, writer)
        if out is not None:
            end = _chunk(b"data: [DONE]\n\n") + _LAST_CHUNK
            writer.write((_finish_events(out) if chat else b"") + end)

    async def _bursts(self, asked: int, chat: bool, counted: bool, writer: asyncio.StreamWriter) -> int:
        """As fast as it can: several events a write, so that the client is the slower side."""
        for first in range(1, asked + 1, _BURST_EVENTS):
            writer.write(_burst(first, min(first + _BURST_EVENTS - 1, asked), chat, counted))
            await writer.drain()
            await asyncio.sleep(0)
        return asked

    async def _steps(self, asked: int, chat: bool, counted: bool, writer: asyncio.StreamWriter) -> int | None:
        """The tokens that went out, None if the stream is over without its regular end."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self.pace.first_token_s
        if self._first_request is None:
            self._first_request = loop.time()
        out = 0
        for count in self._counts(asked):
            if self.pace.fault is not Fault.NONE and count > self.pace.fault_after:
                return None if await self._go_wrong(writer) else out
            await _sleep_until(loop, due)
            writer.write(token_event(count, chat, counted))
            await writer.drain()
            out = count
            slow = due - self._first_request < self.pace.warm_up_s
            due += self.pace.step_s * (3 if slow else 1)
        return out

    def _counts(self, asked: int) -> Iterator[int]:
        count = 0
        for tokens in itertools.cycle(self.pace.tokens_per_step):
            count = min(count + tokens, asked)
            yield count
            if count == asked:
                return

    async def _go_wrong(self, writer: asyncio.StreamWriter) -> bool:
        """Whether the stream is over without its regular end."""
        match self.pace.fault:
            case Fault.STALL:
                await asyncio.sleep(3600)
            case Fault.RESET:
                writer.transport.abort()
            case Fault.CLOSE:
                writer.close()
            case Fault.MALFORMED:
                writer.write(_chunk(b'data: {"choices": [{"index": 0, "delta"\n\n'))
            case Fault.ERROR_EVENT:
                error = json.dumps({"error": {"message": self.pace.error_message, "code": 500}})
                writer.write(_chunk(f"data: {error}\n\n".encode()))
            case _:
                return False
        return True


async def _sleep_until(loop: asyncio.AbstractEventLoop, due: float) -> None:
    await asyncio.sleep(max(0.0, due - loop.time()))


def _plain(status: int, body: str) -> bytes:
    data = body.encode()
    return f"HTTP/1.1 {status} X\r\ncontent-length: {len(data)}\r\nconnection: close\r\n\r\n".encode() + data


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _event(message: dict[str, Any]) -> bytes:
    return _chunk(b"data: " + json.dumps(message, separators=(",", ":")).encode() + b"\n\n")


def _chat_message(delta: dict[str, Any] | None, finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, "matched_stop": None}
    return {
        "id": "6f0d0f4b9a7e4c3f8f1c9f6f2a1f7b11",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": "default",
        "choices": [choice] if delta is not None else [],
    }


def _usage(count: int) -> dict[str, Any]:
    return {
        "prompt_tokens": _PROMPT_TOKENS,
        "total_tokens": _PROMPT_TOKENS + count,
        "completion_tokens": count,
        "prompt_tokens_details": None,
        "reasoning_tokens": 0,
    }


@cache
def token_event(count: int, chat: bool, counted: bool) -> bytes:
    """The event of the step that brings a stream to ``count`` tokens, framed as a chunk."""
    if chat:
        delta = {"role": None, "content": " word", "reasoning_content": None, "tool_calls": None}
        return _event({**_chat_message(delta), "usage": _usage(count) if counted else None})
    meta = {"id": "6f0d0f4b", "prompt_tokens": _PROMPT_TOKENS, "completion_tokens": count}
    return _event({"text": " word" * count, "meta_info": meta})


@cache
def _burst(first: int, last: int, chat: bool, counted: bool) -> bytes:
    return b"".join(token_event(count, chat, counted) for count in range(first, last + 1))


@cache
def _role_event() -> bytes:
    return _event(_chat_message({"role": "assistant", "content": ""}))


@cache
def _finish_events(count: int) -> bytes:
    usage = {**_chat_message(None), "usage": _usage(count)}
    return _event(_chat_message({}, "length")) + _event(usage)


async def _forever(port: int) -> None:
    server = PacedServer(Pace(first_token_s=0.0, step_s=0.0))
    await server.listen(port)
    print(server.url, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    asyncio.run(_forever(parser.parse_args().port))
