"""One streaming request and when its tokens arrived, by the server's own count."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trials.load.sse import EventSplitter, MalformedResponseError, ResponseBody

_COUNT = re.compile(rb'"completion_tokens":\s*(\d+)')
"""Cannot match inside generated text: JSON writes its quotes with a backslash."""

_BODY_SHOWN = 500


@dataclass(frozen=True)
class Trouble:
    """Why a stream gave no answer, and the HTTP status if it was refused."""

    sentence: str
    status: int | None = None
    evidence: str = ""


@dataclass(frozen=True)
class StreamRecord:
    """What one stream did. Times in s on the monotonic clock.

    Attributes:
        sent: When the request was written.
        times: When the server's count rose.
        counts: The server's count of generated tokens at those times.
        asked: Tokens asked for.
        prompt_tokens: The server's count of the prompt, None if it did not say.
        verify_steps: Verify steps of speculative decoding, None if it did not say.
        correct_drafts: Draft tokens that were right and that were proposed, None if it did not say.
        complete: Whether the server said that the answer ended.
    """

    sent: float
    times: NDArray[np.float64] = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    asked: int
    complete: bool
    prompt_tokens: int | None = None
    verify_steps: int | None = None
    correct_drafts: tuple[int, int] | None = None

    @property
    def tokens(self) -> int:
        return int(self.counts[-1]) if self.counts.size else 0


class TokenStream(asyncio.Protocol):
    """Sends one request when told and follows its answer to the end.

    Only events without a token count are parsed as JSON (the role, the finish reason, errors): one regular
    expression per token is what keeps 256 fast streams from measuring the client instead of the server.
    """

    def __init__(self, request: bytes, asked: int, ended: Callable[[TokenStream], None]) -> None:
        self.trouble: Trouble | None = None
        self.sent = 0.0
        self.times: list[float] = []
        self.counts: list[int] = []
        self.complete = False
        self.uncounted_at = -math.inf
        self._request = request
        self._asked = asked
        self._ended = ended
        self._over = False
        self._last_counted = b""
        self._extra: dict[str, Any] = {}
        self._body = ResponseBody()
        self._events = EventSplitter()
        self._refusal = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def send(self) -> None:
        if self._transport is not None and not self._over:
            self.sent = time.monotonic()
            self._transport.write(self._request)

    def abort(self) -> None:
        """Hang up; SGLang then drops the request."""
        self._over = True
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        try:
            body = self._body.feed(data)
            if self._body.status == 200:
                for event in self._events.feed(body):
                    self._event(event, now)
            elif self._body.status is not None:
                self._refusal += body
        except MalformedResponseError as error:
            self._end(Trouble("the server sent something that is not an event stream", evidence=str(error)))
        if self._body.ended:
            self._end(self._missing_end())

    def connection_lost(self, exc: Exception | None) -> None:
        reason = f" ({exc})" if exc else ""
        self._end(self._missing_end() or Trouble(f"the connection was lost before the answer ended{reason}"))

    def _event(self, data: bytes, now: float) -> None:
        found = _COUNT.search(data)
        if found is None:
            self._uncounted(data, now)
            return
        if not data.endswith(b"}"):
            raise MalformedResponseError(f"an event is cut off: {data[-60:]!r}")
        self._last_counted = data
        count = int(found[1])
        if not self.counts or (count > self.counts[-1] and now > self.times[-1]):
            self.times.append(now)
            self.counts.append(count)
        elif count > self.counts[-1]:
            self.counts[-1] = count  # read from the socket together: one arrival

    def _uncounted(self, data: bytes, now: float) -> None:
        if data == b"[DONE]":
            self._done()
            return
        message = parsed_event(data)
        if "error" in message:
            self._end(Trouble("the server answered with an error in mid-stream", evidence=_shown(data)))
        elif any(choice.get("finish_reason") == "abort" for choice in message.get("choices") or ()):
            self._end(Trouble("the server aborted the request", evidence=_shown(data)))
        elif _has_text(message):
            self.uncounted_at = now
        self._extra.update((message.get("sglext") or {}).get("spec_tokens_details") or {})

    def _done(self) -> None:
        message = parsed_event(self._last_counted) if self._last_counted else {}
        reason = (message.get("meta_info") or {}).get("finish_reason") or {}
        if reason.get("type") == "abort":
            self._end(Trouble("the server aborted the request", evidence=str(reason.get("message", ""))))
            return
        self.complete = True
        self._end(None)

    def _missing_end(self) -> Trouble | None:
        status = self._body.status
        if status is not None and status != 200:
            return Trouble(f"the server answered HTTP {status}", status, _shown(self._refusal))
        if self._body.ended and not self.complete:
            return Trouble("the server closed the answer before its end")
        return None

    def _end(self, trouble: Trouble | None) -> None:
        if self._over:
            return
        self._over = True
        self.trouble = trouble
        if self._transport is not None:
            self._transport.close()
        self._ended(self)

    def record(self) -> StreamRecord:
        message = parsed_event(self._last_counted) if self._last_counted else {}
        meta = message.get("meta_info") or {}
        details = {**meta, **self._extra}
        proposed = details.get("spec_num_proposed_drafts")
        return StreamRecord(
            sent=self.sent,
            times=np.array(self.times, dtype=np.float64),
            counts=np.array(self.counts, dtype=np.int64),
            asked=self._asked,
            complete=self.complete,
            prompt_tokens=(message.get("usage") or meta).get("prompt_tokens"),
            verify_steps=details.get("spec_verify_ct") or None,
            correct_drafts=(details.get("spec_num_correct_drafts") or 0, proposed) if proposed else None,
        )


def _has_text(message: dict[str, Any]) -> bool:
    """Whether it is more than the role, which some servers send before the first token."""
    deltas = ((choice.get("delta") or {}) for choice in message.get("choices") or ())
    return bool(message.get("text")) or any(delta.get("content") for delta in deltas)


def parsed_event(data: bytes) -> dict[str, Any]:
    """The JSON object of an event.

    Raises:
        MalformedResponseError: If it is none.
    """
    try:
        message = json.loads(data)
    except ValueError:
        raise MalformedResponseError(f"an event is not JSON: {data[:60]!r}") from None
    if not isinstance(message, dict):
        raise MalformedResponseError(f"an event is not a JSON object: {data[:60]!r}")
    return message


def _shown(body: bytes) -> str:
    return body.decode("utf-8", "replace").strip()[:_BODY_SHOWN]
