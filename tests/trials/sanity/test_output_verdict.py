"""Right, borderline or wrong, from answers made by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from trials.outcome import Measurement
from trials.sanity import accept_length_flag
from trials.sanity.text_checks import garbled_share, loop_share
from trials.sanity.verdict import Examination, Verdict, judge
from trials.settings import ReferenceAnswer

TEXT = "The lamp was lit at dusk, and the keeper wrote down the wind, the ships and the price of oil."


def answer(text: str = TEXT, ids: tuple[int, ...] = tuple(range(40)), nats: float = -0.4) -> ReferenceAnswer:
    return ReferenceAnswer(
        prompt="p", prompt_ids=(1, 2), token_ids=ids, logprobs=(nats,) * len(ids), text=text
    )


REFERENCE = (answer(), answer("Second answer."), answer("第三个回答。"))
SOUND = Examination([a.logprobs for a in REFERENCE], REFERENCE, [a.logprobs for a in REFERENCE])


def moved(by: float) -> list[tuple[float, ...]]:
    return [tuple(value - by for value in a.logprobs) for a in REFERENCE]


def with_own(change: Callable[[ReferenceAnswer], ReferenceAnswer]) -> Verdict:
    own = (change(REFERENCE[0]), *REFERENCE[1:])
    return judge(REFERENCE, replace(SOUND, own=own, own_read=[a.logprobs for a in own]))


def test_the_baseline_agrees_with_itself() -> None:
    assert judge(REFERENCE, SOUND) == Verdict("ok", (), 0.0, 0.0)


@pytest.mark.parametrize("by,judgement", [(0.03, "ok"), (0.12, "warning"), (0.2, "wrong")])
def test_teacher_forced_difference_decides(by: float, judgement: str) -> None:
    verdict = judge(REFERENCE, replace(SOUND, forced=moved(by)))
    assert (verdict.judgement, verdict.wrong) == (judgement, judgement == "wrong")
    assert verdict.forced_nats == pytest.approx(by)
    assert len(verdict.sentences) == (judgement != "ok")


def test_decode_that_prefill_does_not_confirm_is_wrong() -> None:
    verdict = judge(REFERENCE, replace(SOUND, own_read=moved(0.5)))
    assert verdict.wrong
    assert "decoding and prefill disagree" in verdict.sentences[0]


def test_one_impossible_token_does_not_decide() -> None:
    first = (-1e9, *SOUND.forced[0][1:])
    verdict = judge(REFERENCE, replace(SOUND, forced=[first, *SOUND.forced[1:]]))
    assert not verdict.wrong


@pytest.mark.parametrize(
    "change,words",
    [
        (lambda a: a.model_copy(update={"text": "  \n"}), "1 of 3 answers are empty"),
        (lambda a: a.model_copy(update={"token_ids": (1, 2, 3, *((7, 8) * 20))}), "loops over"),
        (lambda a: a.model_copy(update={"text": "ok \ufffd\ufffd\x00\ufffd\ufffd not"}), "are no text"),
        (lambda a: a.model_copy(update={"logprobs": (-6.0,) * 40}), "less likely"),
    ],
)
def test_bad_text_is_wrong(change: Callable[[ReferenceAnswer], ReferenceAnswer], words: str) -> None:
    verdict = with_own(change)
    assert verdict.wrong
    assert words in verdict.sentences[0]


def test_what_the_baseline_does_itself_is_not_held_against_it() -> None:
    looping = answer("eeee" * 20, (5,) * 64)
    garbled = answer("\ufffd" * 30)
    reference = (looping, garbled, answer("", ()))
    seen = Examination([a.logprobs for a in reference], reference, [a.logprobs for a in reference])
    assert judge(reference, seen).judgement == "ok"


@pytest.mark.parametrize(
    "ids,share",
    [
        ((), 0.0),
        (tuple(range(50)), 0.0),
        ((1, 2, 3, 4) * 10, 1.0),
        ((*range(100, 120), *((9,) * 20)), 0.5),
        ((*range(100, 130), *((1, 2, 3) * 10)), 0.5),
    ],
)
def test_loops_are_measured(ids: tuple[int, ...], share: float) -> None:
    assert loop_share(ids) == pytest.approx(share, abs=0.06)


def test_real_scripts_are_text() -> None:
    assert garbled_share("naïve – 日本語 – שלום – मौसम 🌧️\n\tx") == 0.0
    assert garbled_share("cut inside a character \ufffd") == 0.0
    assert garbled_share("\ufffda\ufffdb") == 0.5


def measurement(accept_length: float | None) -> Measurement:
    return Measurement(
        level=1, running=1, decode_tok_s=50, requests=1, output_tokens=9, seconds=1, stopped_by="time"
    ).model_copy(update={"accept_length": accept_length})


@pytest.mark.parametrize(
    "speculative,length,flagged",
    [(True, 1.0, True), (True, 1.02, False), (True, 3.1, False), (True, None, False), (False, 1.0, False)],
)
def test_a_draft_that_never_fits_is_flagged(speculative: bool, length: float | None, flagged: bool) -> None:
    sentence = accept_length_flag(speculative, [measurement(length)])
    assert (sentence is not None) == flagged
