"""The imagined model answers the same each time, and scores what it said as it said it."""

from __future__ import annotations

import pytest

from trials.box.text import Continuation, text_of, tokenize

PROMPT = tokenize("Tell me something about the sea.")


def generated(count: int, numerics: int = 0, garbled: bool = False) -> Continuation:
    return Continuation(PROMPT, numerics, garbled)


def test_tokens_render_back_to_the_text() -> None:
    text = "Tell me, please: what is extraordinarily long?"
    assert text_of(tokenize(text)) == text


def test_the_same_prompt_gives_the_same_tokens_under_any_settings() -> None:
    first, second = generated(0, numerics=1), generated(0, numerics=99)
    a = [first.next() for _ in range(50)]
    b = [second.next() for _ in range(50)]
    assert [each.token for each in a] == [each.token for each in b]
    assert any(x.logprob != y.logprob for x, y in zip(a, b, strict=True))
    assert all(abs(x.logprob - y.logprob) < 0.05 for x, y in zip(a, b, strict=True))


def test_another_prompt_gives_other_tokens() -> None:
    other = Continuation(tokenize("Tell me something about the sun."), 0)
    mine = generated(0)
    assert [mine.next().token for _ in range(20)] != [other.next().token for _ in range(20)]


def test_teacher_forcing_repeats_the_log_probabilities() -> None:
    writer, reader = generated(0), generated(0)
    said = [writer.next() for _ in range(30)]
    assert [reader.score(each.token) for each in said] == said


def test_a_token_that_the_model_would_not_say_is_unlikely() -> None:
    writer, reader = generated(0), generated(0)
    said = writer.next()
    assert reader.score(said.token + 1).logprob < said.logprob - 3


def test_garbled_output_differs_in_text_and_likelihood() -> None:
    good, bad = generated(0), generated(0, garbled=True)
    a, b = [good.next() for _ in range(30)], [bad.next() for _ in range(30)]
    assert text_of(each.token for each in a) != text_of(each.token for each in b)
    assert max(each.logprob for each in b) < -4
    judge = generated(0, garbled=True)
    assert max(judge.score(each.token).logprob for each in a) < -4


def test_alternatives_start_with_the_choice() -> None:
    writer = generated(0)
    best, *others = writer.alternatives(5)
    assert best == writer.next()
    assert len(others) == 4
    assert all(other.logprob < best.logprob for other in others)


@pytest.mark.parametrize("text", ["", " ", "é"])
def test_any_text_has_tokens(text: str) -> None:
    assert tokenize(text)
