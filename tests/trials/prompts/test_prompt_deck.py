"""Dealing prompts: seeded, never the same beginning, recorded lengths filled with real text."""

from __future__ import annotations

import pytest

from trials.prompts import Deck, Prompt, load_prompts

BUILTIN = load_prompts()


def first_lines(prompts: list[Prompt]) -> list[str]:
    return [prompt.messages[0].content.split("\n", 1)[0] for prompt in prompts]


def test_one_seed_is_one_order() -> None:
    assert Deck(BUILTIN, 5).deal(300) == Deck(BUILTIN, 5).deal(300)
    assert Deck(BUILTIN, 5).deal(300) != Deck(BUILTIN, 6).deal(300)


def test_every_prompt_comes_once_before_any_comes_again() -> None:
    dealt = Deck(BUILTIN, 1).deal(len(BUILTIN))
    bodies = {prompt.messages[0].content.split("\n", 1)[1] + str(prompt.messages[1:]) for prompt in dealt}
    assert len(bodies) == len(BUILTIN)


def test_no_two_prompts_begin_alike_even_of_a_set_of_one() -> None:
    dealt = Deck(BUILTIN[:1], 1).deal(500)
    assert len(set(first_lines(dealt))) == 500


def test_a_chat_keeps_its_turns() -> None:
    chat = next(prompt for prompt in BUILTIN if len(prompt.messages) > 2)
    (dealt,) = Deck([chat], 1).deal(1)
    assert dealt.messages[1:] == chat.messages[1:]
    assert dealt.messages[0].content.endswith(chat.messages[0].content)


@pytest.mark.parametrize("tokens", [3, 200, 5000])
def test_recorded_lengths_become_text_of_that_length(tokens: int) -> None:
    recorded = Prompt(prompt_tokens=tokens, output_tokens=7)
    (dealt,) = Deck([recorded], 1, BUILTIN, chars_per_token=4.0).deal(1)
    body = dealt.messages[0].content.split("\n", 1)[1]
    assert len(body) == pytest.approx(4 * tokens, abs=2)
    assert dealt.output_tokens == 7
