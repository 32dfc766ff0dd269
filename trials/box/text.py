"""The imagined model's words: tokens of a text, and a greedy continuation that depends on the whole prefix.

A rolling hash of the prefix picks the next word and its log-probability, so that generating and scoring the
same tokens (teacher forcing) agree, on any settings, but for a little numeric noise.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_VOCABULARY = """
the a of and to in that is was it for on with as by at from this be are or an which one we not
but they all can more when so if time some other about many then them these each two way could
people than first been call water who its now find long down day did get come made may part over
new sound take only little work know place year live me back give most very after thing our just
name good sentence man think say great where help through much before line right too mean old
any same tell boy follow came want show also around form three small set put end does another
well large must big even such because turn here why ask went men read need land different home
us move try kind hand picture again change off play spell air away animal house point page
letter mother answer found study still learn should world
"""
_WORDS = _VOCABULARY.split()
_PUNCTUATION = (",", ".", ";", ":")
_GARBAGE = ("\ufffd", "!!!!", " ⁣", "<unk>", "ÃÂ", "\ufffd\ufffd", " 000", "))))")
_PIECES = re.compile(r"\s?\w{1,7}|\s?[^\w\s]|\s")
_MASK = (1 << 64) - 1
_FIRST_WORD_ID = 1000
_GARBAGE_ID = 900
_TEXT_IDS = 100_000
_LEAST_ANSWER = 96

_piece_of_id: dict[int, str] = {}


@dataclass(frozen=True)
class ScoredToken:
    """A token and its log-probability."""

    token: int
    logprob: float


def tokenize(text: str) -> list[int]:
    """Token ids of a text; the same text always gives the same ids."""
    ids = []
    for piece in _PIECES.findall(text):
        number = _TEXT_IDS + zlib.crc32(piece.encode()) % 60_000
        _piece_of_id[number] = piece
        ids.append(number)
    return ids or [1]


def piece(token: int) -> str:
    """The text of a token."""
    if _FIRST_WORD_ID <= token < _FIRST_WORD_ID + len(_WORDS):
        return f" {_WORDS[token - _FIRST_WORD_ID]}"
    if _FIRST_WORD_ID - len(_PUNCTUATION) <= token < _FIRST_WORD_ID:
        return _PUNCTUATION[_FIRST_WORD_ID - 1 - token]
    if _GARBAGE_ID <= token < _GARBAGE_ID + len(_GARBAGE):
        return _GARBAGE[token - _GARBAGE_ID]
    return _piece_of_id.get(token, f"<{token}>")


def text_of(tokens: Iterable[int]) -> str:
    return "".join(map(piece, tokens))


def _mixed(state: int, token: int) -> int:
    state = ((state ^ token) * 0x9E3779B97F4A7C15) & _MASK
    return state ^ (state >> 29)


def prefix_key(tokens: Sequence[int]) -> int:
    """A hash of a prefix."""
    state = 0x243F6A8885A308D3
    for token in tokens:
        state = _mixed(state, token)
    return state


class Continuation:
    """The greedy continuation of a prompt.

    Args:
        numerics: Distinguishes settings whose arithmetic differs in the last bits.
        garbled: The output is rubbish, as with a broken kernel or KV format.
    """

    def __init__(self, prompt: Sequence[int], numerics: int, garbled: bool = False) -> None:
        self._state = prefix_key(prompt)
        self.numerics = numerics
        self.garbled = garbled
        self.natural_length = _LEAST_ANSWER + (self._state >> 17) % 480

    def next(self) -> ScoredToken:
        """The next greedy token."""
        token = self._greedy()
        logprob = self._logprob(token)
        self._state = _mixed(self._state, token)
        return ScoredToken(token, logprob)

    def score(self, token: int) -> ScoredToken:
        """A given token in this place, and go on from it."""
        logprob = self._logprob(token)
        self._state = _mixed(self._state, token)
        return ScoredToken(token, logprob)

    def alternatives(self, count: int) -> list[ScoredToken]:
        """The most likely tokens in this place, best first."""
        best = self._greedy()
        first = ScoredToken(best, self._logprob(best))
        others = [
            ScoredToken(
                _FIRST_WORD_ID + (self._state + 7 * rank) % len(_WORDS), first.logprob - 1.2 * rank - 0.8
            )
            for rank in range(1, count)
        ]
        return [first, *others]

    def _greedy(self) -> int:
        if self.garbled:
            return _GARBAGE_ID + (self._state >> 11) % len(_GARBAGE)
        if (self._state >> 7) % 9 == 0:
            return _FIRST_WORD_ID - 1 - (self._state >> 20) % len(_PUNCTUATION)
        return _FIRST_WORD_ID + (self._state >> 9) % len(_WORDS)

    def _logprob(self, token: int) -> float:
        share = ((self._state >> 33) & 0xFFFF) / 0xFFFF
        noise = (((self._state >> 5) ^ self.numerics) % 1000 / 1000 - 0.5) * 0.02
        if self.garbled:
            return -(5.0 + 4.0 * share) + noise
        if token == self._greedy():
            return min(-(0.02 + 0.7 * share * share) + noise, -0.001)
        return -(6.0 + 5.0 * share) + noise
