"""Looking once for all who watch: however many clients follow a study, its file is read for one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar

from starlette.concurrency import run_in_threadpool

LOOK_EVERY_S = 0.5
KEEP_ALIVE_S = 15.0
"""A sign of life as often as this keeps proxies from closing a quiet stream, s."""
_GONE_CHECK_S = 2.0
"""A client that left is noticed within this time, s."""

Value = TypeVar("Value")
_log = logging.getLogger(__name__)


class Watch(Generic[Value]):
    """One thing that is looked at while anybody follows it."""

    def __init__(self, look: Callable[[], Value]) -> None:
        self._look = look
        self._seen: list[Value] = []
        self._version = 0
        self._changed = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self.followers = 0

    async def follow(self, is_gone: Callable[[], Awaitable[bool]]) -> AsyncIterator[Value | None]:
        """The value at once and at every change; None as a sign of life in a quiet time."""
        self.followers += 1
        if self._looking is None:
            self._looking = asyncio.create_task(self._keep_looking())
        version, quiet_s = 0, 0.0
        try:
            while not await is_gone():
                if self._version != version:
                    version, quiet_s = self._version, 0.0
                    yield self._seen[0]
                elif await self._waited():
                    quiet_s += _GONE_CHECK_S
                    if quiet_s >= KEEP_ALIVE_S:
                        quiet_s = 0.0
                        yield None
        finally:
            self.followers -= 1
            if not self.followers and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    async def _waited(self) -> bool:
        """Wait for a change; True when none came."""
        try:
            await asyncio.wait_for(self._changed.wait(), min(_GONE_CHECK_S, KEEP_ALIVE_S))
        except TimeoutError:
            return True
        return False

    async def _keep_looking(self) -> None:
        while True:
            try:
                value = await run_in_threadpool(self._look)
                if [value] != self._seen:
                    self._seen = [value]
                    self._version += 1
                    self._changed.set()
                    self._changed = asyncio.Event()
            except Exception:  # a watcher that died would leave its followers waiting for ever
                _log.exception("a change could not be looked for")
            await asyncio.sleep(LOOK_EVERY_S)


class Watches:
    """The watches that somebody follows, by what they look at."""

    def __init__(self) -> None:
        self._watches: dict[Hashable, Watch[Any]] = {}

    def of(self, key: Hashable, look: Callable[[], Value]) -> Watch[Value]:
        for idle in [one for one, watch in self._watches.items() if not watch.followers and one != key]:
            del self._watches[idle]
        return self._watches.setdefault(key, Watch(look))
