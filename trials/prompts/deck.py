"""Deals prompts in a seeded order, each with a prefix of its own."""

from __future__ import annotations

import random
from collections.abc import Sequence

from trials.prompts.reader import Message, Prompt

TYPICAL_CHARS_PER_TOKEN = 3.6
"""Mixed languages, common tokenizers: used until the server has counted a prompt of known length."""


class Deck:
    """An endless, seeded deal of a prompt set.

    The same seed deals the same prompts in the same order, so that settings are compared on the same text.
    Every prompt begins with a reference number that never repeats within a deck: no two share a cached prefix
    beyond the chat template.
    """

    def __init__(
        self,
        prompts: Sequence[Prompt],
        seed: int,
        filler: Sequence[Prompt] = (),
        chars_per_token: float = TYPICAL_CHARS_PER_TOKEN,
    ) -> None:
        self._prompts = list(prompts)
        self._filler = [_text(prompt) for prompt in filler or prompts if prompt.messages]
        self._chars_per_token = chars_per_token
        self._random = random.Random(seed)
        self._waiting: list[Prompt] = []

    def deal(self, count: int) -> list[Prompt]:
        return [self._next() for _ in range(count)]

    def _next(self) -> Prompt:
        if not self._waiting:
            self._waiting = self._random.sample(self._prompts, len(self._prompts))
        prompt = self._waiting.pop()
        messages = prompt.messages or (Message("user", self._text_of(prompt.prompt_tokens or 1)),)
        first = messages[0]
        number = f"{self._random.getrandbits(40):010x}"
        tagged = Message(first.role, f"{number}\n{first.content}")
        return Prompt((tagged, *messages[1:]), prompt.prompt_tokens, prompt.output_tokens)

    def _text_of(self, tokens: int) -> str:
        wanted = max(1, round(tokens * self._chars_per_token))
        pieces: list[str] = []
        while wanted > 0:
            piece = self._random.choice(self._filler)[:wanted]
            pieces.append(piece)
            wanted -= len(piece) + 2
        return "\n\n".join(pieces)


def _text(prompt: Prompt) -> str:
    return "\n".join(message.content for message in prompt.messages)
