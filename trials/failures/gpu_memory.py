"""Is the memory of our cards really ours? A second server gives the same words as a wrong fraction."""

from __future__ import annotations

import re
from typing import Final

from trials.failures.case import Case
from trials.failures.family import Family

_CAPACITY: Final = re.compile(r"total capacity of (?P<gib>[\d.]+) GiB")
_OTHER: Final = re.compile(r"Process \d+ has (?P<amount>[\d.]+) (?P<unit>[GM])iB memory in use")
_OURS: Final = re.compile(r"this process has [\d.]+ \w+ memory in use")

MISSING_GIB: Final = 6.0
"""CUDA context, NCCL and symmetric memory (4 GiB) are gone before the weights; more is not ours."""

MISSING_SHARE: Final = 0.10
OTHERS_GIB: Final = 4.0
"""The other ranks of one server leave a context of about 0.5 GiB each on a card; more is not ours."""


def names_other_processes(text: str) -> bool:
    """True when torch's message lists other processes with much memory on the card.

    Inside a container torch cannot tell its own process from the others: then the list proves nothing.
    """
    if not _OURS.search(text):
        return False
    others = sum(
        float(match["amount"]) / (1 if match["unit"] == "G" else 1024) for match in _OTHER.finditer(text)
    )
    return others >= OTHERS_GIB


def card_is_taken(case: Case) -> bool:
    """True when much less was free before the weights than the card has, and its size is known."""
    free = case.situation.log.memory.lowest("before_weights")
    size = _card_gib(case)
    if free is None or size is None:
        return False
    return size - free > max(MISSING_GIB, MISSING_SHARE * size)


def ranks_differ(case: Case) -> bool:
    """True when one rank had much less memory before the weights than another."""
    memory = case.situation.log.memory
    low, high = memory.lowest("before_weights"), memory.highest("before_weights")
    if low is None or high is None or case.situation.server_args.get("device") == "cpu":
        return False
    return high - low > max(MISSING_GIB, MISSING_SHARE * high)


def _card_gib(case: Case) -> float | None:
    said = _CAPACITY.search(case.text)
    if said is not None:
        return float(said["gib"])
    mib = case.situation.facts.card_memory_mib
    return None if mib is None else mib / 1024


def memory_evidence(case: Case, family: Family) -> tuple[str, ...]:
    """The figures beside a memory failure, and who else was on the cards."""
    if not family.about_gpu_memory:
        return ()
    memory = case.situation.log.memory
    free, size = memory.lowest("before_weights"), _card_gib(case)
    figures = [] if free is None else [f"free before the weights: {free:.2f} GiB{_of(size)}"]
    weights = memory.highest("weights")
    if weights is not None:
        figures.append(
            f"weights: {weights + (memory.highest('draft') or 0.0):.2f} GiB per GPU, draft included"
        )
    return (*figures, *case.situation.facts.foreign_processes)


def _of(size: float | None) -> str:
    return "" if size is None else f" of {size:.2f} GiB"
