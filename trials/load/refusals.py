"""What a refusal proves by itself. SGLang's wording, from 0.5.9 to 0.5.23; the rest is for the log."""

from __future__ import annotations

from dataclasses import dataclass

from trials.load.exchange import ExchangeError
from trials.measure_errors import MeasureError
from trials.outcome import FailureKind


@dataclass(frozen=True)
class Refusal:
    """A way in which the server says no.

    Attributes:
        words: All of these stand in the answer (lower case).
        kind: What it proves.
        meaning: A sentence for people.
    """

    words: tuple[str, ...]
    kind: FailureKind | None
    meaning: str
    statuses: tuple[int, ...] = ()


REFUSALS = (
    Refusal(
        ("maximum allowed length",),
        FailureKind.KV_POOL_TOO_SMALL,
        "a prompt does not fit into the KV pool of these settings",
    ),
    Refusal(
        ("longer than the model's context length",),
        FailureKind.ENVIRONMENT,
        "a prompt is longer than the server's context; shorten the prompts or raise --context-length",
    ),
    Refusal(
        ("maximum context length",),
        FailureKind.ENVIRONMENT,
        "prompt and answer are together longer than the server's context; "
        "shorten the prompts, lower bench.output_tokens or raise --context-length",
    ),
    Refusal(
        (),
        FailureKind.ENVIRONMENT,
        "the server wants an API key; give the one of its --api-key",
        statuses=(401, 403),
    ),
    Refusal((), None, "the server is overloaded or out of service", statuses=(429, 503)),
)


def refusal_error(status: int, said: str) -> MeasureError:
    """The error for an answer other than 200."""
    text = said.lower()
    for refusal in REFUSALS:
        if (not refusal.statuses or status in refusal.statuses) and all(w in text for w in refusal.words):
            return MeasureError(refusal.kind, f"{refusal.meaning} (HTTP {status})", [said], status)
    return MeasureError(None, f"the server refused a request with HTTP {status}", [said], status)


def broken_stream(sentence: str, said: str) -> MeasureError:
    """The error for a stream that began with HTTP 200 and broke: a refusal may come as its first event."""
    text = said.lower()
    for refusal in REFUSALS:
        if refusal.words and all(word in text for word in refusal.words):
            return MeasureError(refusal.kind, refusal.meaning, [said])
    return MeasureError(None, sentence, [said] if said else ())


def unanswered(error: ExchangeError, what: str) -> MeasureError:
    """The error for a plain request that was refused or broken off, or whose answer was late: a hang."""
    if error.status is not None:
        return refusal_error(error.status, error.body)
    return MeasureError(FailureKind.HANG if error.late else None, f"{what}: {error}", [str(error)])
