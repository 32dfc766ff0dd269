"""``POST /generate`` and ``/health_generate``: SGLang's own interface."""

from __future__ import annotations

import json
from typing import Any

from trials.box.answering import Answering, RequestRefusedError, refuse_or_answer
from trials.box.generation import Generation, Sampling, meta_info
from trials.box.http_server import Exchange, Request
from trials.box.text import tokenize

_DEFAULT_NEW_TOKENS = 128


class NativeApi:
    """The native endpoints."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering

    async def generate(self, request: Request, exchange: Exchange) -> None:
        await refuse_or_answer(exchange, self._generate(request, exchange))

    async def _generate(self, request: Request, exchange: Exchange) -> None:
        body = _body_of(request)
        prompts = _prompts_of(body)
        if len(prompts) > 1:
            await exchange.send_json([await self._one(prompt, body, exchange) for prompt in prompts])
        elif body.get("stream"):
            await self._stream(prompts[0], body, exchange)
        else:
            await exchange.send_json(await self._one(prompts[0], body, exchange))

    async def _one(self, prompt: list[int], body: dict[str, Any], exchange: Exchange) -> dict[str, Any]:
        async with self._answering.run(prompt, _sampling_of(body)) as generation:
            await self._answering.whole(generation, exchange)
            return self._reply(generation)

    async def _stream(self, prompt: list[int], body: dict[str, Any], exchange: Exchange) -> None:
        async with self._answering.run(prompt, _sampling_of(body)) as generation:

            async def event(_: int) -> None:
                await exchange.send_event(json.dumps(self._reply(generation)))

            exchange.start_events()
            await self._answering.stream(generation, exchange, event)
            await exchange.end_events()

    def _reply(self, generation: Generation) -> dict[str, Any]:
        answering = self._answering
        return {
            "text": generation.text,
            "output_ids": [each.token for each in generation.tokens],
            "meta_info": meta_info(generation, answering.speculative, answering.drafts_per_step),
        }


def _body_of(request: Request) -> dict[str, Any]:
    try:
        return request.json()
    except ValueError as error:
        raise RequestRefusedError(f"Invalid request body: {error}") from error


def _prompts_of(body: dict[str, Any]) -> list[list[int]]:
    ids = body.get("input_ids")
    if ids:
        return ids if isinstance(ids[0], list) else [ids]
    text = body.get("text")
    if isinstance(text, str):
        return [tokenize(text)]
    if isinstance(text, list) and text:
        return [tokenize(each) for each in text]
    raise RequestRefusedError("Either text, input_ids or input_embeds should be provided.")


def _sampling_of(body: dict[str, Any]) -> Sampling:
    given = body.get("sampling_params") or {}
    start = body.get("logprob_start_len")
    return Sampling(
        max_new_tokens=max(int(given.get("max_new_tokens", _DEFAULT_NEW_TOKENS)), 1),
        ignore_eos=bool(given.get("ignore_eos")),
        logprobs=bool(body.get("return_logprob")),
        logprob_start=-1 if start is None else int(start),
        top=int(body.get("top_logprobs_num") or 0),
    )
