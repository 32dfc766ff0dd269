"""What page and command line ask of a running night, looked at once a second."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from sqlalchemy.exc import SQLAlchemyError

from autotune.night.agenda import Wish
from autotune.night.stop_requests import StopRequests
from autotune.search import SearchSpace
from autotune.trial_view import TrialView
from autotune.wishes import refusal
from db import inbox
from db.errors import StudyFileError
from db.journal import Journal

_EVERY_S = 1.0
_log = logging.getLogger(__name__)


class InboxWatch:
    """Turns stop requests into the night's stop events, from a thread of its own."""

    def __init__(self, journal: Journal, requests: StopRequests) -> None:
        self._journal = journal
        self._requests = requests
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="inbox-watch", daemon=True)

    def __enter__(self) -> Self:
        self._refuse_old_stops()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(_EVERY_S):
            try:
                self.look()
            except (SQLAlchemyError, StudyFileError) as error:
                _log.warning("the inbox cannot be read now: %s", error)

    def _refuse_old_stops(self) -> None:
        """What was meant for an earlier run must not stop this one."""
        for request in inbox.waiting(self._journal.engine):
            if request.kind in ("stop_now", "stop_after_trial"):
                inbox.answer(self._journal.engine, request, "nobody ran the study then")

    def look(self) -> None:
        for request in inbox.waiting(self._journal.engine):
            if request.kind == "stop_now":
                self._requests.now.set()
                inbox.answer(self._journal.engine, request, "stopping now")
            elif request.kind == "stop_after_trial":
                self._requests.after_trial.set()
                inbox.answer(self._journal.engine, request, "stopping after the running trial")


def open_wishes(
    journal: Journal,
    history: Sequence[TrialView],
    space: SearchSpace,
    forbidden: Callable[[Mapping[str, Any]], str | None],
) -> list[Wish]:
    """Settings that somebody wants tried and that can be; the others are answered here."""
    tried = {trial.asked: trial.number for trial in history}
    wishes = []
    for request in inbox.waiting(journal.engine):
        if request.kind != "try_settings":
            continue
        settings = space.active(request.payload["settings"])
        sentence = refusal(settings, tried, space, forbidden)
        if sentence is None:
            wishes.append(Wish(request.id, settings))
        else:
            inbox.answer(journal.engine, request, sentence)
    return wishes


def grant(journal: Journal, wish: int, number: int) -> None:
    """Say that a wish has become a trial."""
    for request in inbox.waiting(journal.engine):
        if request.id == wish:
            inbox.answer(journal.engine, request, f"trial {number} runs them")
