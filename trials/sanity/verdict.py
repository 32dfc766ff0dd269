"""Compares a server's answers with the baseline's and says whether its output is still right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trials.sanity.text_checks import garbled_share, loop_share
from trials.sanity.thresholds import CAP_NATS, FORCED, GARBLED, LOOP, SELF, UNSURE, Threshold
from trials.settings import ReferenceAnswer

Judgement = Literal["ok", "warning", "wrong"]


@dataclass(frozen=True)
class Verdict:
    """Whether the output is right.

    Attributes:
        sentences: What was found, the worst first; empty when all is well.
        forced_nats: Mean absolute difference on the baseline's answers, nats; None if not compared.
        self_nats: The same between decoding and reading back its own answers.
    """

    judgement: Judgement
    sentences: tuple[str, ...] = ()
    forced_nats: float | None = None
    self_nats: float | None = None

    @property
    def wrong(self) -> bool:
        return self.judgement == "wrong"


@dataclass(frozen=True)
class Finding:
    judgement: Judgement
    sentence: str


@dataclass(frozen=True)
class Examination:
    """All that was asked of the tested server.

    Attributes:
        forced: Its log-probabilities of the baseline's answers.
        own: Its own greedy answers to the same prompts.
        own_read: Its log-probabilities of these, by prefill.
    """

    forced: Sequence[Sequence[float]]
    own: Sequence[ReferenceAnswer]
    own_read: Sequence[Sequence[float]]


def judge(reference: Sequence[ReferenceAnswer], seen: Examination) -> Verdict:
    forced = mean_difference([answer.logprobs for answer in reference], seen.forced)
    own = mean_difference([answer.logprobs for answer in seen.own], seen.own_read)
    findings = [
        _step(
            forced, FORCED, "the answers of the baseline are {value:.2f} nats a token off (limit {wrong:g})"
        ),
        _step(own, SELF, "decoding and prefill disagree by {value:.2f} nats a token (limit {wrong:g})"),
        *_text_findings(reference, seen.own),
    ]
    found = sorted((f for f in findings if f is not None), key=lambda f: f.judgement != "wrong")
    judgement = found[0].judgement if found else "ok"
    return Verdict(judgement, tuple(finding.sentence for finding in found), forced, own)


def mean_difference(ours: Iterable[Sequence[float]], theirs: Iterable[Sequence[float]]) -> float | None:
    """Mean absolute difference over all tokens, nats; None without any token in common."""
    gaps = [
        min(abs(a - b), CAP_NATS)
        for left, right in zip(ours, theirs, strict=True)
        for a, b in zip(left, right, strict=False)
    ]
    return float(np.mean(gaps)) if gaps else None


def _step(value: float | None, limit: Threshold, sentence: str) -> Finding | None:
    if value is None or value <= limit.warning:
        return None
    text = sentence.format(value=value, wrong=limit.wrong)
    return Finding("wrong", text) if value > limit.wrong else Finding("warning", f"borderline: {text}")


def _text_findings(
    reference: Sequence[ReferenceAnswer], own: Sequence[ReferenceAnswer]
) -> Iterable[Finding | None]:
    pairs = list(zip(reference, own, strict=True))
    empty = sum(not answer.text.strip() and bool(base.text.strip()) for base, answer in pairs)
    if empty:
        yield Finding("wrong", f"{empty} of {len(pairs)} answers are empty")
    yield _worst(
        pairs, lambda a: loop_share(a.token_ids), LOOP, "an answer loops over {value:.0%} of its length"
    )
    yield _worst(
        pairs, lambda a: garbled_share(a.text), GARBLED, "{value:.0%} of an answer's characters are no text"
    )
    unsure = [
        float(np.mean(base.logprobs) - np.mean(answer.logprobs))
        for base, answer in pairs
        if base.logprobs and answer.logprobs
    ]
    yield _step(
        float(np.mean(unsure)) if unsure else None,
        UNSURE,
        "its own answers are {value:.2f} nats a token less likely than the baseline's (limit {wrong:g})",
    )


def _worst(
    pairs: Sequence[tuple[ReferenceAnswer, ReferenceAnswer]],
    measure: Callable[[ReferenceAnswer], float],
    limit: Threshold,
    sentence: str,
) -> Finding | None:
    """The worst answer, leaving out prompts at which the baseline itself is over the first limit."""
    values = [measure(answer) for base, answer in pairs if measure(base) <= limit.warning]
    return _step(max(values, default=None), limit, sentence)
