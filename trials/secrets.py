"""Takes tokens, keys and passwords out of what is logged, stored or exported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

HIDDEN = "***"

_LAST_WORDS = frozenset(
    {"token", "key", "apikey", "secret", "password", "passwd", "pwd", "credential", "auth"}
)
_ANYWHERE = ("password", "passwd", "secret")
_POINTERS = frozenset({"file", "path", "dir"})
"""Last words of names that hold where a secret lies, not the secret."""
_COUNTED = re.compile(r"(?:per|first|next|last)[_-]token$", re.IGNORECASE)
"""Names that speak of the tokens of a text."""
_SHORTEST = 4
"""Shorter secrets are not searched for in running text, where they would hide half of it."""

_ASSIGNMENT = re.compile(r"(?P<name>-{0,2}[A-Za-z_][\w-]*)=(?P<value>.+)", re.DOTALL)
_PASSWORD_IN_URL = re.compile(r"(?P<before>\w+://[^/\s:@]*:)[^/\s@]+(?=@)")
_KNOWN_FORMS = re.compile(
    r"\bhf_[A-Za-z0-9]{16,}|\bsk-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|(?<=Bearer )[\w.~+/=-]{8,}"
)


def is_secret_name(name: str) -> bool:
    """True for names of flags and variables that hold a secret: ``HF_TOKEN``, ``--admin-api-key``."""
    words = re.split(r"[_-]+", name.strip("-_").lower())
    if words[-1] in _POINTERS or _COUNTED.search(name):
        return False
    return words[-1] in _LAST_WORDS or any(part in "".join(words) for part in _ANYWHERE)


def redact_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """The command line with every secret value replaced by ``***``."""
    shown: list[str] = []
    hide_next = False
    for word in argv:
        hidden = hide_next and not word.startswith("--")
        shown.append(HIDDEN if hidden else _redact_word(word))
        hide_next = not hidden and word.startswith("--") and "=" not in word and is_secret_name(word)
    return tuple(shown)


def redact_env(env: Mapping[str, str]) -> dict[str, str]:
    """The variables with every secret value replaced by ``***``."""
    return {name: HIDDEN if is_secret_name(name) and value else _plain(value) for name, value in env.items()}


def redact_text(text: str, secrets: Iterable[str] = ()) -> str:
    """Running text without the given secrets, passwords in addresses, and well-known forms of tokens."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, HIDDEN)
    return _plain(text)


def secrets_in(argv: Sequence[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """The secret values of a command: what a server's log must be searched for."""
    found = [value for name, value in env.items() if is_secret_name(name) and value]
    for place, word in enumerate(argv):
        assignment = _ASSIGNMENT.fullmatch(word)
        if assignment is not None and is_secret_name(assignment["name"]):
            found.append(assignment["value"])
        elif place > 0 and argv[place - 1].startswith("--") and is_secret_name(argv[place - 1]):
            found.append(word)
    return tuple(value for value in found if value != HIDDEN and not value.startswith("--"))


def _redact_word(word: str) -> str:
    assignment = _ASSIGNMENT.fullmatch(word)
    if assignment is not None and is_secret_name(assignment["name"]):
        return f"{assignment['name']}={HIDDEN}"
    return _plain(word)


def _plain(text: str) -> str:
    return _KNOWN_FORMS.sub(HIDDEN, _PASSWORD_IN_URL.sub(rf"\g<before>{HIDDEN}", text))
