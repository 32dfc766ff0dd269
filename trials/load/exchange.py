"""One plain request and its whole answer, given up at once when stop is requested."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any

from trials.load.endpoint import Endpoint
from trials.load.sse import MalformedResponseError, ResponseBody
from trials.measure_errors import StopRequested
from trials.recorder import StopSignal

_LOOK_S = 0.1
_READ_BYTES = 1 << 16
_BODY_SHOWN = 500


class ExchangeError(RuntimeError):
    """A plain request failed.

    Attributes:
        status: HTTP status, None if there was no answer.
        body: What the server said.
        late: No answer came in time, though nothing broke.
    """

    def __init__(
        self, sentence: str, status: int | None = None, body: str = "", *, late: bool = False
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.body = body
        self.late = late


def call(
    endpoint: Endpoint,
    path: str,
    payload: Any = None,
    *,
    method: str = "POST",
    timeout: float,
    stop: StopSignal | None = None,
) -> Any:
    """Like ``exchange``, for code that is not asynchronous."""
    return asyncio.run(exchange(endpoint, path, payload, method=method, timeout=timeout, stop=stop))


async def exchange(
    endpoint: Endpoint,
    path: str,
    payload: Any = None,
    *,
    method: str = "POST",
    timeout: float,
    stop: StopSignal | None = None,
) -> Any:
    """The JSON of the answer, None where it is not JSON.

    Raises:
        ExchangeError: If there is no answer of status 200 within ``timeout`` s.
        StopRequested: Within 0.2 s of the stop signal.
    """
    talk = asyncio.ensure_future(_talk(endpoint, endpoint.request_bytes(path, payload, method)))
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    try:
        while not talk.done():
            await asyncio.wait({talk}, timeout=_LOOK_S)
            if stop is not None and stop.is_set():
                raise StopRequested("stop was requested during a request")
            if not talk.done() and loop.time() >= deadline:
                raise ExchangeError(f"{path} gave no answer within {timeout:g} s", late=True)
        status, body = talk.result()
    except (OSError, MalformedResponseError) as error:
        raise ExchangeError(f"{path} gave no answer: {error}") from None
    finally:
        talk.cancel()
    if status != 200:
        said = body.decode("utf-8", "replace").strip()[:_BODY_SHOWN]
        raise ExchangeError(f"{path} answered HTTP {status}: {said}", status, said)
    try:
        return json.loads(body)
    except ValueError:
        return None


async def _talk(endpoint: Endpoint, request: bytes) -> tuple[int, bytes]:
    context = ssl.create_default_context() if endpoint.tls else None
    reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port, ssl=context)
    try:
        writer.write(request)
        answer, body = ResponseBody(), b""
        while not answer.ended and (data := await reader.read(_READ_BYTES)):
            body += answer.feed(data)
        if answer.status is None or (answer.framed and not answer.ended):
            raise MalformedResponseError("the connection was closed before the answer was complete")
        return answer.status, body
    finally:
        writer.close()
