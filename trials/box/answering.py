"""What the native and the OpenAI-like endpoints share: run a request, survive what goes wrong on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from trials.box.faults import Fault
from trials.box.generation import Generation, Sampling, ServerGoneError
from trials.box.http_server import ClientGoneError, Exchange
from trials.box.replicas import Replicas
from trials.box.setting_up import Setup


class RequestRefusedError(ValueError):
    """A request that the server answers with 400 and this sentence."""


class Answering:
    """Starts requests and ties their lives to their clients."""

    def __init__(self, setup: Setup, replicas: Replicas) -> None:
        self.setup = setup
        self.replicas = replicas
        self._reset: Fault | None = setup.faults.get("connection_reset")

    @property
    def drafts_per_step(self) -> int:
        return self.setup.args.rows_per_request - 1

    @property
    def speculative(self) -> bool:
        return self.setup.args.speculation is not None

    @property
    def model(self) -> str:
        return str(self.setup.args.table["served_model_name"])

    @asynccontextmanager
    async def run(self, prompt: list[int], sampling: Sampling) -> AsyncIterator[Generation]:
        """A request while it runs; aborted when the block is left early.

        Raises:
            RequestRefusedError: If the prompt is longer than the context.
        """
        longest = self.setup.args.context_length
        if len(prompt) >= longest:
            raise RequestRefusedError(
                f"The input ({len(prompt)} tokens) is longer than the model's context length "
                f"({longest} tokens)."
            )
        generation = self.replicas.start(prompt, sampling)
        try:
            yield generation
        finally:
            self.replicas.finish(generation)

    async def whole(self, generation: Generation, exchange: Exchange) -> None:
        """Wait for all tokens.

        Raises:
            ClientGoneError: If the client leaves before.
        """
        async for _ in generation.updates():
            self._maybe_reset(generation, exchange)
            if exchange.client_gone:
                raise ClientGoneError

    async def stream(
        self, generation: Generation, exchange: Exchange, event: Callable[[int], Awaitable[None]]
    ) -> None:
        """Call ``event`` with the number of new tokens each time some arrive."""
        async for count in generation.updates():
            await event(count)
            self._maybe_reset(generation, exchange)

    def _maybe_reset(self, generation: Generation, exchange: Exchange) -> None:
        if self._reset and len(generation.tokens) >= self._reset.after_tokens:
            exchange.reset()
            raise ClientGoneError


async def refuse_or_answer(exchange: Exchange, answer: Awaitable[None]) -> None:
    """Run one answer; bad requests get 400, a dead scheduler a broken connection."""
    try:
        await answer
    except ServerGoneError:
        exchange.reset()
    except RequestRefusedError as error:
        await exchange.send_json(
            {"error": {"message": str(error), "type": "BadRequestError", "code": 400}}, 400
        )
    except asyncio.CancelledError:
        exchange.reset()
        raise
