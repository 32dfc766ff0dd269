"""``python -m tests.bench.watchers PAGE``: many readers of one study's page, until SIGTERM ends them.

In truth they sit at other machines. Here they take only processor time that nobody else wants (SCHED_IDLE),
or a benchmark of two cores would measure them and not the dashboard. The first line says that they are there,
the last one what they saw: changes, tables, bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from dataclasses import dataclass

import httpx


@dataclass
class Seen:
    """Of all watchers together: changes of the page, tables asked for anew, bytes."""

    changes: int = 0
    tables: int = 0
    received: int = 0


_AGAIN_S = 3.0
"""As long as a browser waits before it asks again for a stream that broke, s."""


async def watch(client: httpx.AsyncClient, page: str, seen: Seen) -> None:
    """As a page does: the stream of parts, and the table at every change of a trial."""
    while True:
        try:
            await _follow(client, page, seen)
        except httpx.HTTPError:
            await asyncio.sleep(_AGAIN_S)


async def _follow(client: httpx.AsyncClient, page: str, seen: Seen) -> None:
    async with client.stream("GET", f"{page}/live") as stream:
        stream.raise_for_status()
        async for piece in stream.aiter_raw():
            seen.received += len(piece)
            seen.changes += piece.count(b"event: parts")
            if b'"table"' in piece:
                seen.tables += 1
                seen.received += len((await client.get(f"{page}/table")).content)


async def _watch_until_told(page: str, clients: int) -> Seen:
    seen, told = Seen(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    async with httpx.AsyncClient(timeout=30) as client, asyncio.TaskGroup() as group:
        watchers = [group.create_task(watch(client, page, seen)) for _ in range(clients)]
        print("watching", flush=True)
        await told.wait()
        for watcher in watchers:
            watcher.cancel()
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page")
    parser.add_argument("--clients", type=int, default=20)
    options = parser.parse_args()
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    seen = asyncio.run(_watch_until_told(options.page, options.clients))
    print(seen.changes, seen.tables, seen.received)


if __name__ == "__main__":
    main()
