"""What the scheduler's own log said while a level was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from trials.boot_log.events import DecodeBatch, Event, Retraction

LogWindow: TypeAlias = Callable[[], Sequence[Event]]
"""Gives the log events since it was last called; only decode batches and retractions are looked at."""

FULL_BATCH_SHARE = 0.9
"""Batches smaller than this share of a rank's largest are the ramps of a wave, not its steady state."""


def no_log() -> Sequence[Event]:
    """For a server whose log is out of reach."""
    return ()


@dataclass(frozen=True)
class LogFacts:
    """None where the log says nothing. Shares from 0 to 1."""

    accept_length: float | None = None
    accept_rate: float | None = None
    no_graph_share: float | None = None
    retractions: int | None = None
    kv_use: float | None = None


def log_facts(events: Iterable[Event]) -> LogFacts:
    """Sum up the events of the measured waves."""
    events = list(events)
    batches = [event for event in events if isinstance(event, DecodeBatch)]
    if not batches:
        return LogFacts()
    largest: dict[str, int] = {}
    for batch in batches:
        largest[batch.rank] = max(largest.get(batch.rank, 0), batch.running)
    full = [batch for batch in batches if batch.running >= FULL_BATCH_SHARE * largest[batch.rank]]
    graphs = [batch.cuda_graph for batch in full if batch.cuda_graph is not None]
    return LogFacts(
        accept_length=_mean(batch.accept_len for batch in full),
        accept_rate=_mean(batch.accept_rate for batch in full),
        no_graph_share=graphs.count(False) / len(graphs) if graphs else None,
        retractions=sum(event.count for event in events if isinstance(event, Retraction)),
        kv_use=max((b.token_usage for b in batches if b.token_usage is not None), default=None),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
