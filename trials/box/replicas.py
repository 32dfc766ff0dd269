"""The launcher's side of the schedulers: requests go out, tokens come back."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

from trials.box.children import Child
from trials.box.generation import Generation, Sampling, numerics_of
from trials.box.setting_up import Setup
from trials.box.text import Continuation, prefix_key
from trials.box.wire import Inbox, pack


class Replica:
    """One leading scheduler."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._writer: asyncio.StreamWriter | None = None
        self.generations: dict[int, Generation] = {}
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._numbers = itertools.count()

    async def connect(self) -> None:
        self._child.sock.setblocking(False)
        reader, self._writer = await asyncio.open_connection(sock=self._child.sock)
        self._task = asyncio.create_task(self._listen(reader))

    def send(self, message: tuple[Any, ...]) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(pack(message))

    async def ask(self, question: str, timeout: float) -> Any:
        """Put ``ping`` or ``flush`` to the scheduler.

        Raises:
            TimeoutError: If it does not answer in time.
        """
        number = next(self._numbers)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[number] = future
        self.send((question, number))
        return await asyncio.wait_for(future, timeout)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        inbox = Inbox()
        while data := await reader.read(1 << 16):
            for message in inbox.feed(data):
                self._take(message)
        for generation in self.generations.values():
            generation.fail()

    def _take(self, message: tuple[Any, ...]) -> None:
        if message[0] == "tokens":
            for rid, count, done, verify_steps, retractions in message[1]:
                generation = self.generations.get(rid)
                if generation:
                    generation.push(count, done, verify_steps, retractions)
            return
        future = self._answers.pop(message[1], None)
        if future and not future.done():
            future.set_result(message[2])


class Replicas:
    """All replicas, requests spread over them in turn."""

    def __init__(self, setup: Setup, children: Sequence[Child]) -> None:
        self._setup = setup
        self._replicas = [Replica(child) for child in children if child.rank and child.rank.leads]
        self._turn = itertools.cycle(self._replicas)
        self._rids = itertools.count()
        self._garbled = setup.faults.get("garbled_output") is not None
        self._numerics = numerics_of(setup.args)

    async def connect(self) -> None:
        for replica in self._replicas:
            await replica.connect()

    @property
    def running(self) -> list[Generation]:
        return [generation for replica in self._replicas for generation in replica.generations.values()]

    def start(self, prompt: Sequence[int], sampling: Sampling) -> Generation:
        """Send a request to the next replica."""
        replica = next(self._turn)
        generation = Generation(
            next(self._rids), prompt, sampling, Continuation(prompt, self._numerics, self._garbled)
        )
        replica.generations[generation.rid] = generation
        replica.send(("add", generation.rid, len(prompt), prefix_key(prompt) >> 1, generation.limit))
        return generation

    def finish(self, generation: Generation) -> None:
        """Forget a request; one that still runs is aborted."""
        for replica in self._replicas:
            if replica.generations.pop(generation.rid, None) and not generation.done:
                replica.send(("abort", generation.rid))

    async def states(self, timeout: float) -> list[dict[str, Any]]:
        """Every replica's own account of itself.

        Raises:
            TimeoutError: If one does not answer.
        """
        return [await replica.ask("ping", timeout) for replica in self._replicas]

    async def flush(self, timeout: float) -> bool:
        return all([await replica.ask("flush", timeout) for replica in self._replicas])
