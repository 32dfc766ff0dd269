"""How many draft tokens were right."""

from __future__ import annotations

from collections.abc import Iterable

from trials.load import StreamRecord
from trials.throughput.decode_log import LogFacts


def acceptance(streams: Iterable[StreamRecord], log: LogFacts) -> tuple[float | None, float | None]:
    """Accept length (tokens per verify step) and rate (share of draft tokens that were right).

    From the requests' own figures where the server offers them (``spec_tokens_details`` on the chat route in
    0.5.23, ``meta_info`` on ``/generate``), summed over requests, not averaged; else from the log lines.
    ``/server_info`` is of no use here: its average runs since the start of the server. A step gives its
    correct drafts and one token more; an answer's first token comes from the prefill and from no step.
    """
    told = [stream for stream in streams if stream.complete and stream.verify_steps]
    if not told:
        return log.accept_length, log.accept_rate
    steps = sum(stream.verify_steps or 0 for stream in told)
    drafts = [stream.correct_drafts for stream in told if stream.correct_drafts is not None]
    proposed = sum(drafted for _, drafted in drafts)
    if len(drafts) < len(told) or not proposed:
        return (sum(stream.tokens for stream in told) - len(told)) / steps, log.accept_rate
    correct = sum(right for right, _ in drafts)
    return 1.0 + correct / steps, correct / proposed
