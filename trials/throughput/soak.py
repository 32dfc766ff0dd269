"""Booting is not surviving: many settings die in the first long prefill or under the full load."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from threading import Event as Never

from trials.counted import counted
from trials.load import Endpoint, Patience, run_wave
from trials.prompts import Prompt
from trials.recorder import StopSignal
from trials.settings import BenchPlan
from trials.throughput.approach import find_approach
from trials.throughput.window import is_short


def survive(
    url: str,
    bench: BenchPlan,
    prompts: Sequence[Prompt],
    *,
    seconds: float = 15.0,
    stop: StopSignal | None = None,
    seed: int = 0,
    patience: Patience | None = None,
    api_key: str | None = None,
) -> tuple[str, ...]:
    """Soak the server with the study's longest prompt on every stream of its highest level.

    Waves repeat for ``seconds``; at least one is carried to its end or to four times that long.

    Returns:
        What was seen and is not an error, one sentence each: answers cut short.

    Raises:
        MeasureError: If it does not survive; the kinds are those of ``measure_level``.
        StopRequested: If ``stop`` is set meanwhile.
    """
    endpoint = Endpoint.parse(url, api_key)
    run = _soak(endpoint, bench, _longest(prompts), seconds, stop or Never(), seed, patience or Patience())
    return asyncio.run(run)


async def _soak(
    endpoint: Endpoint,
    bench: BenchPlan,
    longest: Prompt,
    seconds: float,
    stop: StopSignal,
    seed: int,
    patience: Patience,
) -> tuple[str, ...]:
    approach = await find_approach(endpoint, [longest], seed, stop, patience)
    level = max(bench.levels)
    begun = time.monotonic()
    answers = short = 0
    while not answers or time.monotonic() - begun < seconds:
        deadline = begun + (seconds if answers else 4 * seconds)
        requests = approach.requests(level, bench.output_tokens)
        wave = await run_wave(endpoint, requests, stop=stop, deadline=deadline, patience=patience)
        answers += len(wave.streams)
        short += sum(map(is_short, wave.streams))
    if not short:
        return ()
    where = f"at {counted(level, 'stream')}"
    return (f"{short} of {answers} answers to the longest prompt {where} were cut short",)


def _longest(prompts: Sequence[Prompt]) -> Prompt:
    return max(prompts, key=lambda p: (p.prompt_tokens or 0, sum(len(m.content) for m in p.messages)))
