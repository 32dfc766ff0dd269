"""When is output wrong? Every limit in one table, with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Threshold:
    """A limit in two steps.

    Attributes:
        warning: From here on it is borderline: a sentence beside the result.
        wrong: From here on the output is wrong, however fast.
        unit: Unit of both.
        reason: Why there.
    """

    warning: float
    wrong: float
    unit: str
    reason: str


FORCED = Threshold(
    0.08,
    0.15,
    "nats",
    "Mean absolute difference of log-probabilities of the baseline's answers, read by the settings under "
    "test. Other kernels, batch sizes and reduction orders move a bf16 model by a few hundredths; a model "
    "that is 0.15 off on every token believes something else.",
)
SELF = Threshold(
    0.08,
    0.15,
    "nats",
    "The same difference between an answer as it was decoded and as it is read back by prefill, on one "
    "server. Decode, verify and graph kernels that are wrong while prefill is right show only here.",
)
LOOP = Threshold(
    0.5,
    0.75,
    "share of the answer",
    "Greedy text may repeat a line now and then; an answer most of which is one short cycle is a loop.",
)
GARBLED = Threshold(
    0.02,
    0.05,
    "share of characters",
    "A replacement character may come where an answer is cut inside a character; more of them, or control "
    "characters, are tokens that make no text.",
)
UNSURE = Threshold(
    0.7,
    1.5,
    "nats",
    "How much less likely, by its own account, a token of its answers is than one of the baseline's answers "
    "to the same prompts: sound greedy decoding of the same model is about as sure of itself.",
)

LOOP_LONGEST_CYCLE = 24
"""Tokens; a longer repetition is a list or a verse, not a loop."""

CAP_NATS = 10.0
"""One impossible token must not decide a mean."""
