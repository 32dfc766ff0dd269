"""One wave: N streams that start together, followed to their end, to the deadline or to the first trouble."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from trials.counted import counted
from trials.load.endpoint import Endpoint
from trials.load.refusals import broken_stream, refusal_error
from trials.load.sse import MalformedResponseError
from trials.load.token_stream import StreamRecord, TokenStream
from trials.measure_errors import MeasureError, StopRequested
from trials.outcome import FailureKind
from trials.recorder import StopSignal

TICK_S = 0.1
"""How often the stop signal, the deadline and silence are looked at."""

BREATH_S = 1.0
"""The deadline cuts a wave that had a token so lately; another one is waited for, or patience ends it."""

PAUSE_S = 2.0
"""A tick this late: this process itself stood still (suspended, stopped, starved), so the wave is void."""


@dataclass(frozen=True)
class Patience:
    """How long silence is borne, s.

    Attributes:
        connect_s: Until every connection stands.
        first_token_s: From the start of a wave to its first token: the prefill of a whole wave.
        stall_s: Between any two tokens of a wave after that.
    """

    connect_s: float = 10.0
    first_token_s: float = 180.0
    stall_s: float = 30.0


@dataclass(frozen=True)
class Request:
    """A request as bytes, and the tokens that it asks for."""

    data: bytes
    asked: int


@dataclass(frozen=True)
class Wave:
    """What the streams of one wave did. Times in s on the monotonic clock.

    Attributes:
        ended: When the last stream ended, or when it was cut.
        cut: Whether time was up before every stream had ended.
        paused_s: How long this process stood still meanwhile; more than 0 makes the wave void.
    """

    streams: tuple[StreamRecord, ...]
    ended: float
    cut: bool = False
    paused_s: float = 0.0


Look = Callable[["Wave"], None]
"""Called about once a second with the wave so far; may raise to end the measurement."""

LOOK_S = 1.0


async def run_wave(
    endpoint: Endpoint,
    requests: Sequence[Request],
    *,
    stop: StopSignal,
    deadline: float,
    patience: Patience,
    look: Look | None = None,
    may_cut: Callable[[Wave], bool] | None = None,
) -> Wave:
    """Send all requests at once and follow them.

    Args:
        may_cut: Asked from the deadline on, about once a second, whether the wave so far is enough; left out:
            it is.

    Raises:
        MeasureError: If a stream breaks, is refused or falls silent.
        StopRequested: Within 0.2 s of the stop signal.
    """
    run = _WaveRun(endpoint, requests, stop, deadline, patience, look, may_cut)
    try:
        return await run.follow()
    except MalformedResponseError as error:
        raise MeasureError(None, "the server sent an event that cannot be read", [str(error)]) from None
    finally:
        run.hang_up()


class _WaveRun:
    def __init__(
        self,
        endpoint: Endpoint,
        requests: Sequence[Request],
        stop: StopSignal,
        deadline: float,
        patience: Patience,
        look: Look | None,
        may_cut: Callable[[Wave], bool] | None,
    ) -> None:
        self._endpoint = endpoint
        self._streams = [TokenStream(request.data, request.asked, self._ended) for request in requests]
        self._stop = stop
        self._deadline = deadline
        self._patience = patience
        self._look = look
        self._may_cut = may_cut
        self._open = len(self._streams)
        self._broken: TokenStream | None = None
        self._over = asyncio.Event()
        self._sent = self._last_tick = self._last_look = time.monotonic()
        self._paused_s = 0.0

    async def follow(self) -> Wave:
        await self._watched(self._connect(), self._check_connecting)
        self._sent = time.monotonic()
        for stream in self._streams:
            stream.send()
        await self._watched(self._over.wait(), self._check_streaming)
        self._raise_if_broken()
        return self._so_far(cut=self._open > 0)

    def hang_up(self) -> None:
        for stream in self._streams:
            stream.abort()

    def _ended(self, stream: TokenStream) -> None:
        self._open -= 1
        if stream.trouble is not None and self._broken is None:
            self._broken = stream
        if self._broken is not None or not self._open:
            self._over.set()

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        context = ssl.create_default_context() if self._endpoint.tls else None
        where = (self._endpoint.host, self._endpoint.port)
        await asyncio.gather(
            *(loop.create_connection(lambda s=s: s, *where, ssl=context) for s in self._streams)
        )

    async def _watched(self, work: Coroutine[Any, Any, Any], check: Callable[[float], bool]) -> None:
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=TICK_S)
                now = self._tick()
                if not task.done() and check(now):
                    return
            task.result()
        except OSError as error:
            raise MeasureError(None, f"no connection to {self._endpoint.url}: {error}") from None
        finally:
            task.cancel()

    def _tick(self) -> float:
        now = time.monotonic()
        late = now - self._last_tick - TICK_S
        if late > PAUSE_S:
            self._paused_s += late
        self._last_tick = now
        if self._stop.is_set():
            raise StopRequested("stop was requested during a measurement")
        return now

    def _check_connecting(self, now: float) -> bool:
        if now - self._sent > self._patience.connect_s:
            raise MeasureError(
                FailureKind.HANG,
                f"{self._endpoint.url} did not accept {counted(len(self._streams), 'connection')} "
                f"within {self._patience.connect_s:g} s",
            )
        return False

    def _check_streaming(self, now: float) -> bool:
        """Whether the deadline has come."""
        arrivals = [stream.times[-1] for stream in self._streams if stream.times]
        patience = self._patience.stall_s if arrivals else self._patience.first_token_s
        silent = now - max(arrivals, default=self._sent)
        if silent > patience and not self._paused_s:
            raise MeasureError(
                FailureKind.HANG,
                f"no token from {_any_of(self._open, 'open stream')} for {silent:.0f} s",
                [f"{len(arrivals)} of {counted(len(self._streams), 'stream')} had begun"],
            )
        if self._look is not None and now - self._last_look >= LOOK_S:
            self._last_look = now
            self._look(self._so_far(cut=True))
        # A silent wave is ended by patience: cut by the clock, a hang would pass for a short measurement.
        alive = min(silent, now - self._last_uncounted) < BREATH_S or self._paused_s > 0
        return now >= self._deadline and alive and self._is_enough(now)

    @property
    def _last_uncounted(self) -> float:
        return max(stream.uncounted_at for stream in self._streams)

    def _is_enough(self, now: float) -> bool:
        if self._may_cut is None or self._may_cut(self._so_far(cut=True)):
            return True
        self._deadline = now + LOOK_S
        return False

    def _so_far(self, *, cut: bool) -> Wave:
        streams = tuple(stream.record() for stream in self._streams)
        return Wave(streams, time.monotonic(), cut, self._paused_s)

    def _raise_if_broken(self) -> None:
        stream = self._broken
        if stream is None or stream.trouble is None:
            return
        trouble = stream.trouble
        if trouble.status is not None:
            raise refusal_error(trouble.status, trouble.evidence)
        tokens = stream.counts[-1] if stream.counts else 0
        where = f"after {counted(tokens, 'token')} of {_any_of(len(self._streams), 'stream', 'one')}"
        raise broken_stream(f"{trouble.sentence}, {where}", trouble.evidence)


def _any_of(number: int, noun: str, which: str = "any") -> str:
    return counted(number, noun) if number == 1 else f"{which} of {counted(number, noun)}"
