"""The two ways to ask for a stream whose tokens the server counts.

Chat is the first choice: the server applies the model's own template, without which a chat model (and even
more its draft model) sees text it was never trained on. With ``continuous_usage_stats`` every event carries
the engine's cumulative ``completion_tokens``, so an event of several tokens (speculation, a busy
detokenizer) counts as several; read in the source of SGLang 0.5.9 and 0.5.23. ``/generate`` counts in the
same way but knows no template, and repeats the whole text in every event: it serves models without a
template.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from trials.prompts import Prompt

CHAT_PATH = "/v1/chat/completions"
GENERATE_PATH = "/generate"


class Dialect(StrEnum):
    """Which route is measured; its value is the path."""

    CHAT = CHAT_PATH
    GENERATE = GENERATE_PATH

    def payload(self, prompt: Prompt, tokens: int) -> Mapping[str, Any]:
        """The request for exactly ``tokens`` greedy tokens, streamed."""
        return _chat(prompt, tokens) if self is Dialect.CHAT else _generate(prompt, tokens)


def _chat(prompt: Prompt, tokens: int) -> Mapping[str, Any]:
    return {
        "model": "default",
        "messages": [{"role": message.role, "content": message.content} for message in prompt.messages],
        "max_tokens": tokens,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        # A step without text sends no event on this route, so special tokens are shown and nothing is parted.
        "skip_special_tokens": False,
        "separate_reasoning": False,
        "return_spec_tokens_details": True,
    }


def _generate(prompt: Prompt, tokens: int) -> Mapping[str, Any]:
    return {
        "text": "\n\n".join(message.content for message in prompt.messages),
        "sampling_params": {"max_new_tokens": tokens, "temperature": 0, "ignore_eos": True},
        "stream": True,
    }
