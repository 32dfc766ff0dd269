"""``/v1/chat/completions``, ``/v1/completions`` and ``/v1/models``."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from trials.box.answering import Answering, RequestRefusedError, refuse_or_answer
from trials.box.generation import Generation, Sampling
from trials.box.http_server import Exchange, Request
from trials.box.text import piece, tokenize

_DEFAULT_COMPLETION_TOKENS = 16
_DEFAULT_CHAT_TOKENS = 4096


@dataclass(frozen=True)
class _Asked:
    prompt: list[int]
    sampling: Sampling
    chat: bool
    usage_at_end: bool
    usage_always: bool


class OpenAiApi:
    """The OpenAI-like endpoints."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering

    async def models(self, request: Request, exchange: Exchange) -> None:
        card = {
            "id": self._answering.model,
            "object": "model",
            "created": int(time.time()),
            "owned_by": "sglang",
            "root": self._answering.model,
            "parent": None,
            "max_model_len": self._answering.setup.args.context_length,
        }
        await exchange.send_json({"object": "list", "data": [card]})

    async def chat(self, request: Request, exchange: Exchange) -> None:
        await refuse_or_answer(exchange, self._answer(request, exchange, chat=True))

    async def complete(self, request: Request, exchange: Exchange) -> None:
        await refuse_or_answer(exchange, self._answer(request, exchange, chat=False))

    async def _answer(self, request: Request, exchange: Exchange, *, chat: bool) -> None:
        try:
            body = request.json()
        except ValueError as error:
            raise RequestRefusedError(f"Invalid request body: {error}") from error
        asked = _asked(body, chat)
        async with self._answering.run(asked.prompt, asked.sampling) as generation:
            if body.get("stream"):
                await self._stream(generation, asked, exchange)
            else:
                await self._answering.whole(generation, exchange)
                await exchange.send_json(self._whole(generation, asked))

    async def _stream(self, generation: Generation, asked: _Asked, exchange: Exchange) -> None:
        sent = 0

        async def event(count: int) -> None:
            nonlocal sent
            text = "".join(piece(each.token) for each in generation.tokens[sent : sent + count])
            sent += count
            choice = _chunk_choice(asked, {"content": text} if asked.chat else text, None)
            await exchange.send_event(self._chunk(generation, asked, [choice], asked.usage_always))

        exchange.start_events()
        if asked.chat:
            first = _chunk_choice(asked, {"role": "assistant", "content": ""}, None)
            await exchange.send_event(self._chunk(generation, asked, [first], asked.usage_always))
        await self._answering.stream(generation, exchange, event)
        last = _chunk_choice(asked, {"content": None} if asked.chat else "", generation.finish_reason)
        await exchange.send_event(self._chunk(generation, asked, [last], asked.usage_always))
        if asked.usage_at_end:
            await exchange.send_event(self._chunk(generation, asked, [], True))
        await exchange.end_events()

    def _chunk(
        self, generation: Generation, asked: _Asked, choices: list[dict[str, Any]], usage: bool
    ) -> str:
        return json.dumps(
            {
                "id": generation.name,
                "object": "chat.completion.chunk" if asked.chat else "text_completion",
                "created": int(time.time()),
                "model": self._answering.model,
                "choices": choices,
                "usage": _usage(generation) if usage else None,
            }
        )

    def _whole(self, generation: Generation, asked: _Asked) -> dict[str, Any]:
        content: dict[str, Any] = (
            {"message": {"role": "assistant", "content": generation.text}}
            if asked.chat
            else {"text": generation.text}
        )
        choice = {"index": 0, **content, "logprobs": None, "finish_reason": generation.finish_reason}
        return {
            "id": generation.name,
            "object": "chat.completion" if asked.chat else "text_completion",
            "created": int(time.time()),
            "model": self._answering.model,
            "choices": [choice],
            "usage": _usage(generation),
        }


def _chunk_choice(asked: _Asked, content: object, finish_reason: str | None) -> dict[str, Any]:
    name = "delta" if asked.chat else "text"
    return {"index": 0, name: content, "logprobs": None, "finish_reason": finish_reason}


def _usage(generation: Generation) -> dict[str, int]:
    prompt, completion = len(generation.prompt), len(generation.tokens)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _asked(body: dict[str, Any], chat: bool) -> _Asked:
    options = body.get("stream_options") or {}
    given = body.get("max_completion_tokens") or body.get("max_tokens")
    tokens = given or (_DEFAULT_CHAT_TOKENS if chat else _DEFAULT_COMPLETION_TOKENS)
    return _Asked(
        prompt=_chat_prompt(body) if chat else _plain_prompt(body),
        sampling=Sampling(max_new_tokens=int(tokens), ignore_eos=bool(body.get("ignore_eos"))),
        chat=chat,
        usage_at_end=bool(options.get("include_usage")),
        usage_always=bool(options.get("continuous_usage_stats")),
    )


def _chat_prompt(body: dict[str, Any]) -> list[int]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RequestRefusedError("Messages cannot be empty.")
    turns = [f"<|im_{each.get('role')}|>{_content_text(each.get('content'))}<|im_end|>" for each in messages]
    return tokenize("".join(turns) + "<|im_assistant|>")


def _content_text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _plain_prompt(body: dict[str, Any]) -> list[int]:
    prompt = body.get("prompt")
    if isinstance(prompt, str):
        return tokenize(prompt)
    if isinstance(prompt, list) and prompt:
        return prompt if isinstance(prompt[0], int) else tokenize(str(prompt[0]))
    raise RequestRefusedError("Prompt cannot be empty.")
