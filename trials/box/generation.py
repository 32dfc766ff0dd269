"""One request on the launcher's side: its text, and the tokens as they arrive from the scheduler."""

from __future__ import annotations

import asyncio
import time
import uuid
import zlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from trials.box.server_args import ServerArgs
from trials.box.text import Continuation, ScoredToken, piece


@dataclass(frozen=True)
class Sampling:
    """What a request asks for.

    Attributes:
        logprob_start: First input position whose log-probability is wanted; -1: none.
        top: Alternatives per output token.
    """

    max_new_tokens: int = 128
    ignore_eos: bool = False
    logprobs: bool = False
    logprob_start: int = -1
    top: int = 0


class ServerGoneError(RuntimeError):
    """The scheduler died while the request ran."""


@dataclass(eq=False)
class Generation:
    """A request and all that it has produced."""

    rid: int
    prompt: Sequence[int]
    sampling: Sampling
    continuation: Continuation
    tokens: list[ScoredToken] = field(default_factory=list)
    top: list[list[ScoredToken]] = field(default_factory=list)
    text: str = ""
    done: bool = False
    verify_steps: int = 0
    retractions: int = 0
    started: float = field(default_factory=time.monotonic)
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    _updates: asyncio.Queue[int | None] = field(default_factory=asyncio.Queue)

    @property
    def limit(self) -> int:
        """Tokens that this request may produce."""
        if self.sampling.ignore_eos:
            return self.sampling.max_new_tokens
        return min(self.sampling.max_new_tokens, self.continuation.natural_length)

    @property
    def finish_reason(self) -> str:
        return "length" if len(self.tokens) >= self.sampling.max_new_tokens or self._cut_short else "stop"

    @property
    def _cut_short(self) -> bool:
        return self.done and len(self.tokens) < self.limit

    def push(self, count: int, done: bool, verify_steps: int, retractions: int) -> None:
        """Take tokens that the scheduler has produced."""
        for _ in range(count):
            if self.sampling.top:
                self.top.append(self.continuation.alternatives(self.sampling.top))
            token = self.continuation.next()
            self.tokens.append(token)
            self.text += piece(token.token)
        self.done = self.done or done
        self.verify_steps, self.retractions = verify_steps, retractions
        self._updates.put_nowait(count)

    def fail(self) -> None:
        """The scheduler is gone; whoever waits gets ``ServerGoneError``."""
        self._updates.put_nowait(None)

    async def updates(self) -> AsyncIterator[int]:
        """The number of new tokens each time some arrive, until the request is done.

        Raises:
            ServerGoneError: If the scheduler dies first.
        """
        while True:
            count = await self._updates.get()
            if count is None:
                raise ServerGoneError
            yield count
            if self.done and self._updates.empty():
                return

    async def wait(self) -> None:
        async for _ in self.updates():
            pass

    def input_scores(self) -> list[tuple[float | None, ScoredToken]]:
        """Log-probabilities of the input from the start that was asked for; the first has none."""
        start = max(self.sampling.logprob_start, 0)
        walk = Continuation(self.prompt[:start], self.continuation.numerics, self.continuation.garbled)
        scored = [walk.score(token) for token in self.prompt[start:]]
        return [(None if index == 0 else each.logprob, each) for index, each in enumerate(scored)]


def numerics_of(args: ServerArgs) -> int:
    """Settings that sum in another order differ in the last bits of their logits."""
    speculation = args.speculation.algorithm if args.speculation else ""
    text = (
        f"{args.tp}:{args.adp}:{args.ep}:{args.all_reduce}:{speculation}:{args.table.get('kv_cache_dtype')}"
    )
    return zlib.crc32(text.encode())


def meta_info(generation: Generation, speculative: bool, drafts_per_step: int) -> dict[str, Any]:
    """The ``meta_info`` of SGLang's native replies."""
    count = len(generation.tokens)
    reason: dict[str, Any] | None = None
    if generation.done:
        reason = {"type": generation.finish_reason}
        reason |= {"length": count} if reason["type"] == "length" else {"matched": 2}
    meta: dict[str, Any] = {
        "id": generation.name,
        "finish_reason": reason,
        "prompt_tokens": len(generation.prompt),
        "weight_version": "default",
        "num_retractions": generation.retractions,
        "completion_tokens": count,
        "cached_tokens": 0,
    }
    if generation.done:
        meta["e2e_latency"] = time.monotonic() - generation.started
    if speculative and generation.verify_steps:
        drafted = count - 1 - generation.verify_steps
        meta["spec_accept_length"] = (count - 1) / generation.verify_steps
        meta["spec_verify_ct"] = generation.verify_steps
        meta["spec_accept_rate"] = drafted / (generation.verify_steps * max(drafts_per_step, 1))
    if generation.sampling.logprobs:
        meta["output_token_logprobs"] = [_entry(each.logprob, each) for each in generation.tokens]
        meta["input_token_logprobs"] = (
            [_entry(value, each) for value, each in generation.input_scores()]
            if generation.sampling.logprob_start >= 0
            else []
        )
        if generation.sampling.top:
            meta["output_top_logprobs"] = [
                [_entry(each.logprob, each) for each in place] for place in generation.top
            ]
    return meta


def _entry(logprob: float | None, token: ScoredToken) -> list[Any]:
    return [logprob, token.token, piece(token.token)]
