"""Before a level is measured: the route on which this server counts tokens, their length, a clean cache."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from trials.load import Dialect, Endpoint, ExchangeError, Patience, Request, Wave, exchange, run_wave
from trials.measure_errors import MeasureError
from trials.prompts import Deck, Prompt, load_prompts
from trials.prompts.deck import TYPICAL_CHARS_PER_TOKEN
from trials.recorder import StopSignal

PROBE_TOKENS = 8
FLUSH_PATIENCE_S = 5.0
_FLUSH_RETRY_S = 0.2
_PROBE_S = 3.0
"""A slower probe is cut at its next token: one that is counted tells all that is asked."""

_NO_CHAT = (400, 404, 405, 422, 500, 501)
"""How releases refuse a chat with a model that has no template."""


@dataclass(frozen=True)
class Approach:
    """How this server is asked.

    Attributes:
        notes: What a reader of the numbers must know about it.
    """

    endpoint: Endpoint
    dialect: Dialect
    deck: Deck
    notes: tuple[str, ...] = ()

    def requests(self, count: int, output_tokens: int) -> list[Request]:
        """The next ``count`` requests; a prompt with a recorded answer length keeps it."""
        requests = []
        for prompt in self.deck.deal(count):
            tokens = prompt.output_tokens or output_tokens
            data = self.endpoint.request_bytes(self.dialect, self.dialect.payload(prompt, tokens))
            requests.append(Request(data, tokens))
        return requests


async def find_approach(
    endpoint: Endpoint, prompts: Sequence[Prompt], seed: int, stop: StopSignal, patience: Patience
) -> Approach:
    """Ask for a few tokens by chat, and where that is refused or not counted by ``/generate``.

    Raises:
        MeasureError: If neither route gives counted tokens.
        StopRequested: If ``stop`` is set meanwhile.
    """
    builtin = load_prompts()
    chat = Approach(endpoint, Dialect.CHAT, Deck(builtin, -1 - seed))
    refused = ""
    try:
        wave, chars = await _probe(chat, stop, patience)
    except MeasureError as error:
        if error.kind is not None or error.status not in _NO_CHAT:
            raise
        wave, refused = None, error.summary
    if wave is not None and wave.streams[0].tokens:
        deck = Deck(prompts, seed, builtin, _chars_per_token(wave, chars))
        return Approach(endpoint, Dialect.CHAT, deck)
    wave, chars = await _probe(Approach(endpoint, Dialect.GENERATE, Deck(builtin, -1 - seed)), stop, patience)
    if not wave.streams[0].tokens:
        raise MeasureError(None, "the server counts tokens neither on the chat route nor on /generate")
    deck = Deck(prompts, seed, builtin, _chars_per_token(wave, chars))
    why = refused or "its events carry no token counts"
    return Approach(
        endpoint, Dialect.GENERATE, deck, (f"measured by /generate without the chat template: {why}",)
    )


async def _probe(approach: Approach, stop: StopSignal, patience: Patience) -> tuple[Wave, int]:
    (prompt,) = approach.deck.deal(1)
    data = approach.endpoint.request_bytes(approach.dialect, approach.dialect.payload(prompt, PROBE_TOKENS))
    deadline = time.monotonic() + _PROBE_S
    wave = await run_wave(
        approach.endpoint, [Request(data, PROBE_TOKENS)], stop=stop, deadline=deadline, patience=patience
    )
    return wave, sum(len(message.content) for message in prompt.messages)


def _chars_per_token(wave: Wave, chars: int) -> float:
    tokens = wave.streams[0].prompt_tokens
    return chars / tokens if tokens else TYPICAL_CHARS_PER_TOKEN


async def flush_cache(endpoint: Endpoint, stop: StopSignal) -> tuple[str, ...]:
    """Empty the radix cache, waiting for requests that were just cut; a sentence if that fails.

    Raises:
        StopRequested: If ``stop`` is set meanwhile.
    """
    deadline = time.monotonic() + FLUSH_PATIENCE_S
    while True:
        try:
            await exchange(endpoint, "/flush_cache", timeout=FLUSH_PATIENCE_S, stop=stop)
        except ExchangeError as error:
            if time.monotonic() >= deadline:
                return (f"the prefix cache could not be emptied: {error}",)
        else:
            return ()
        await asyncio.sleep(_FLUSH_RETRY_S)
