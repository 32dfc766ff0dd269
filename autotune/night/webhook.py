"""Posts to a webhook from a thread of its own: slow, deaf or gone, it never holds up the night."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx

from autotune.night.letters import News, letter

ANSWERS_WITHIN_S = 10.0
RETRIES_AFTER_S = (2.0, 10.0)
LAST_WORDS_S = 20.0
"""How long the end of a night waits for its last news to be delivered, s."""
_MOST_WAITING = 50
_SERVER_BUSY = 429
_SERVER_ERROR = 500


class Webhook:
    """A context manager; what is posted is delivered in order, or given up after a few tries."""

    def __init__(self, url: str, on_trouble: Callable[[str], None]) -> None:
        """Nothing is sent before it is entered.

        Args:
            on_trouble: Told once, in a sentence without the address's secret part, that it does not work.
        """
        self._url = url
        self._on_trouble = on_trouble
        self._complained = False
        self._waiting: queue.Queue[News | None] = queue.Queue(_MOST_WAITING)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._deliver, name="webhook", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._put(None)
        self._thread.join(LAST_WORDS_S)

    def post(self, news: News) -> None:
        """Leave news for delivery; returns at once."""
        self._put(news)

    def _put(self, news: News | None) -> None:
        try:
            self._waiting.put_nowait(news)
        except queue.Full:
            self._complain("is too slow; news are left out")

    def _deliver(self) -> None:
        with httpx.Client(timeout=ANSWERS_WITHIN_S) as client:
            while (news := self._waiting.get()) is not None:
                trouble = self._try(client, news)
                for pause in RETRIES_AFTER_S:
                    if not trouble:
                        break
                    self._closing.wait(pause)
                    trouble = self._try(client, news)
                if trouble:
                    self._complain(trouble)

    def _try(self, client: httpx.Client, news: News) -> str:
        """Deliver once; why another try may help, empty when none is needed."""
        sent = letter(self._url, news)
        try:
            status = client.post(sent.url, json=sent.body).status_code
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return f"cannot be reached ({type(error).__name__})"
        if status == _SERVER_BUSY or status >= _SERVER_ERROR:
            return f"answers {status}"
        if not httpx.codes.is_success(status):
            self._complain(f"refuses the notice ({status}); check [notify] webhook")
        return ""

    def _complain(self, reason: str) -> None:
        if not self._complained:
            self._complained = True
            self._on_trouble(f"the webhook at {urlsplit(self._url).hostname} {reason}")
