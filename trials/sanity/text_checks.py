"""Is an answer looping or garbled? Numbers between 0 and 1, to be compared with the baseline's."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from trials.sanity.thresholds import LOOP_LONGEST_CYCLE

_REPLACEMENT = "\ufffd"
_LAYOUT_CHARACTERS = "\n\r\t"
_CYCLES_AT_LEAST = 4


def loop_share(token_ids: Sequence[int]) -> float:
    """Share of the answer that its end spends in one short cycle, 0 if there is none."""
    best = 0
    for period in range(1, LOOP_LONGEST_CYCLE + 1):
        run = period
        while run < len(token_ids) and token_ids[-1 - run] == token_ids[-1 - run + period]:
            run += 1
        if run >= _CYCLES_AT_LEAST * period:
            best = max(best, run)
    return best / len(token_ids) if token_ids else 0.0


def garbled_share(text: str) -> float:
    """Share of characters that are no text; one at the very end is the cut, not the model."""
    body = text.removesuffix(_REPLACEMENT)
    return sum(map(_is_no_text, body)) / len(body) if body else 0.0


def _is_no_text(character: str) -> bool:
    if character in _LAYOUT_CHARACTERS:
        return False
    return character == _REPLACEMENT or unicodedata.category(character) in ("Cc", "Cn", "Co", "Cs")
