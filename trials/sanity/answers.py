"""Asks a server for greedy answers, and for what it thinks of given ones."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trials.load import Endpoint, ExchangeError, exchange
from trials.load.refusals import unanswered
from trials.measure_errors import MeasureError
from trials.recorder import StopSignal
from trials.sanity.prompts import ANSWER_TOKENS, PROMPTS
from trials.settings import ReferenceAnswer

_GENERATE = "/generate"


@dataclass(frozen=True)
class Examiner:
    """A server that can be asked, and how long each answer may take, s."""

    endpoint: Endpoint
    patience_s: float
    stop: StopSignal | None = None

    async def answers(self) -> tuple[ReferenceAnswer, ...]:
        """Its greedy answers to the fixed prompts, all asked at once.

        Raises:
            MeasureError: If it does not answer, or not with log-probabilities.
            StopRequested: If ``stop`` is set meanwhile.
        """
        return tuple(await asyncio.gather(*(self._answer(prompt) for prompt in PROMPTS)))

    async def read_back(self, answers: Sequence[ReferenceAnswer]) -> list[tuple[float, ...]]:
        """Log-probabilities that it gives to the tokens of given answers, by prefill alone."""
        return list(await asyncio.gather(*(self._read(answer) for answer in answers)))

    async def _answer(self, prompt: str) -> ReferenceAnswer:
        reply = await self._ask(
            {
                "text": prompt,
                "sampling_params": {"max_new_tokens": ANSWER_TOKENS, "temperature": 0},
                "return_logprob": True,
                "logprob_start_len": 0,
            }
        )
        meta = reply["meta_info"]
        _, prompt_ids = _logprobs(meta, "input_token_logprobs")
        logprobs, token_ids = _logprobs(meta, "output_token_logprobs")
        return ReferenceAnswer(
            prompt=prompt,
            prompt_ids=prompt_ids,
            token_ids=token_ids,
            logprobs=tuple(value if value is not None else 0.0 for value in logprobs),
            text=str(reply.get("text", "")),
        )

    async def _read(self, answer: ReferenceAnswer) -> tuple[float, ...]:
        """SGLang gives no value for the first token at ``logprob_start_len``: it starts one token early."""
        if not answer.token_ids:
            return ()
        reply = await self._ask(
            {
                "input_ids": [*answer.prompt_ids, *answer.token_ids],
                "sampling_params": {"max_new_tokens": 1, "temperature": 0},
                "return_logprob": True,
                "logprob_start_len": len(answer.prompt_ids) - 1,
            }
        )
        logprobs, _ = _logprobs(reply["meta_info"], "input_token_logprobs")
        return tuple(value for value in logprobs if value is not None)[-len(answer.token_ids) :]

    async def _ask(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        try:
            reply = await exchange(self.endpoint, _GENERATE, payload, timeout=self.patience_s, stop=self.stop)
        except ExchangeError as error:
            raise unanswered(error, "the output check got no answer") from None
        if not isinstance(reply, dict) or not isinstance(reply.get("meta_info"), dict):
            raise MeasureError(None, "the output check got an answer without meta_info", [str(reply)[:200]])
        return reply


def _logprobs(meta: Mapping[str, Any], key: str) -> tuple[tuple[float | None, ...], tuple[int, ...]]:
    """SGLang writes one ``[logprob or null, token id, text or null]`` per token."""
    entries = meta.get(key)
    if not isinstance(entries, list):
        raise MeasureError(None, f"the server gave no {key}: it cannot be checked with these settings")
    return tuple(entry[0] for entry in entries), tuple(int(entry[1]) for entry in entries)
