"""Who may read and who may act: the token, the names that the page answers to, and wrong tries."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
import time
from collections import defaultdict, deque
from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import urlsplit

TOKEN_VARIABLE = "AUTOTUNE_PAGE_TOKEN"
"""How whoever starts the dashboard may give it a token, and so print the link itself (``night/page.py``)."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
WRONG_TRIES = 10
WRONG_TRIES_WITHIN_S = 60.0
"""After so many wrong tokens within that time an address is not listened to, s."""


def new_token() -> str:
    return secrets.token_urlsafe(24)


def token_from_environment() -> str | None:
    """The token that the starter gave; taken out of the environment, so that no child inherits it."""
    return os.environ.pop(TOKEN_VARIABLE, None) or None


class WrongTries:
    """Counts wrong tokens by the address that they came from."""

    def __init__(self) -> None:
        self._at: dict[str, deque[float]] = defaultdict(deque)

    def is_over(self, address: str) -> bool:
        """Too many of late: whatever this address offers is not looked at."""
        tries = self._at.get(address)
        if tries is None:
            return False
        while tries and time.monotonic() - tries[0] > WRONG_TRIES_WITHIN_S:
            tries.popleft()
        if not tries:
            del self._at[address]
        return len(tries) >= WRONG_TRIES

    def add(self, address: str) -> None:
        self._at[address].append(time.monotonic())


@dataclass
class Door:
    """What lets a request in.

    Attributes:
        host: The address that is listened on; any but loopback demands the token for reading too.
        names: Further names that the page answers to.
    """

    token: str
    host: str = LOOPBACK[0]
    names: Collection[str] = ()
    _proven: set[str] = field(default_factory=set)
    _wrong: WrongTries = field(default_factory=WrongTries)

    @property
    def reading_is_free(self) -> bool:
        return self.host in LOOPBACK

    def knows(self, offered: str | None, address: str) -> bool:
        """Whether this is the token; wrong ones are counted.

        Wrong tries never shut out an address that has shown the token before: a page of somebody else can
        make them in the owner's browser. A stranger's address is not listened to once it has had its tries.
        """
        is_shut = self.is_shut(address)
        if offered is None or (is_shut and address not in self._proven):
            return False
        if secrets.compare_digest(offered.encode(), self.token.encode()):
            self._proven.add(address)
            return True
        if not is_shut:
            self._wrong.add(address)
        return False

    def is_shut(self, address: str) -> bool:
        return self._wrong.is_over(address)

    def answers_to(self, host_header: str) -> bool:
        """Whether a browser may know this page by that name: a rebound name never leads here.

        Off loopback an address in figures will do as well, since only names can be rebound.
        """
        name = host_name(host_header)
        if name in LOOPBACK or name in self.names:
            return True
        if self.reading_is_free:
            return False
        return name in (self.host, socket.gethostname().lower()) or _is_address(name)


def is_same_origin(origin: str, host_header: str) -> bool:
    try:
        return urlsplit(origin).netloc.lower() == host_header.lower()
    except ValueError:
        return False


def host_name(host_header: str) -> str:
    """The name without its port and brackets, in lower case; empty if it is none."""
    try:
        return (urlsplit(f"//{host_header}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
