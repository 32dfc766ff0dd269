"""The night itself: ask, run, tell, until the budget is used up or somebody or something says stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta

from autotune.night.agenda import Agenda, Wish
from autotune.night.asking import Asked, Request
from autotune.night.clock import NightClock
from autotune.night.finals import Finals
from autotune.night.gain import enough
from autotune.night.inbox_watch import grant
from autotune.night.reporter import Reporter
from autotune.night.settling import Settling
from autotune.night.sickness import advise
from autotune.night.stop_requests import StopRequests
from autotune.night.study_book import StudyBook
from autotune.search import SpaceUsedUpError
from autotune.trial_view import TrialView
from autotune.verdict import Verdict
from db.clock import utc_text
from db.journal import EventLevel, Journal
from trials.outcome import AnyOutcome

DONE, FAILED, INTERRUPTED = 0, 1, 130


@dataclass(frozen=True)
class NightResult:
    """How a night ended.

    Attributes:
        exit_code: 0 done, 1 the machine is at fault, 130 interrupted; the study is resumable in all cases.
        sentence: The same in words.
    """

    exit_code: int
    sentence: str


@dataclass
class Night:
    """One run of a study.

    Attributes:
        run_asked: Runs one asked trial.
        waits_s: Pauses for a machine that fails again and again (``autotune.night.sickness``), s.
        stop_when_done: End when no further boot promises enough (``autotune.night.gain``).
        make_room: Frees disk space where it is short; why nothing may be started if that does not help.
        wishes: What the user wants tried, oldest first.
        decide: The verdict over a history.
    """

    book: StudyBook
    journal: Journal
    agenda: Agenda
    clock: NightClock
    finals: Finals
    settling: Settling
    reporter: Reporter
    requests: StopRequests
    waits_s: Sequence[float]
    stop_when_done: bool
    make_room: Callable[[Sequence[TrialView]], str | None]
    run_asked: Callable[[Asked, Sequence[TrialView]], AnyOutcome]
    wishes: Callable[[Sequence[TrialView]], Sequence[Wish]]
    decide: Callable[[Sequence[TrialView]], Verdict]
    _told: Verdict | None = field(default=None, init=False)

    def run(self) -> NightResult:
        """Run trials until there is a reason to end."""
        result = self._trials()
        self._tell_best(last=True)
        return result

    def _trials(self) -> NightResult:
        earlier = len(self.book.history())
        while True:
            history = self.book.history()
            if end := self._over(history) or self._rest(history, earlier) or self._over(history):
                return end
            asked = self._ask(history)
            if isinstance(asked, NightResult):
                return asked
            end = self._one_trial(asked, history)
            self._tell_best()
            if end is not None:
                return end

    def _over(self, history: Sequence[TrialView]) -> NightResult | None:
        if self.requests.now.is_set():
            return NightResult(INTERRUPTED, "stopped before its end; run the same command to go on")
        if self.requests.after_trial.is_set():
            return NightResult(DONE, "stopped after the trial, as asked; run the same command to go on")
        if reason := self.clock.over(history):
            return NightResult(DONE, reason)
        if reason := self.make_room(history):
            return NightResult(FAILED, reason)
        return None

    def _rest(self, history: Sequence[TrialView], earlier: int) -> NightResult | None:
        """Leave a machine alone that fails again and again, and in the end for good.

        Args:
            earlier: Trials that the study had before this run.
        """
        advice = advise(history[earlier:], self.waits_s, self.clock.spare_s(history))
        if advice is None:
            return None
        if advice.wait_s is None:
            self.journal.notice(advice.sentence, "error")
            return NightResult(FAILED, advice.sentence)
        self._say(advice.sentence, "warning")
        self.requests.wait(advice.wait_s)
        return None

    def _say(self, sentence: str, level: EventLevel = "info") -> None:
        self.journal.notice(sentence, level)
        self.reporter.notice(sentence)

    def _ask(self, history: Sequence[TrialView]) -> Asked | NightResult:
        if self.clock.finals_are_due(history):
            request = self._next_final(history)
            if request is not None:
                return self._start(request)
            if any(trial.role == "final" for trial in history):
                return NightResult(DONE, "the finals are done")
        request = self.agenda.next(history, self.wishes(history))
        if request is not None:
            return self._start(request)
        done = enough(history) if self.stop_when_done else None
        try:
            return self._finish_with(done, history) if done else self.book.propose()
        except SpaceUsedUpError as error:
            return self._finish_with(str(error), history)

    def _finish_with(self, reason: str, history: Sequence[TrialView]) -> Asked | NightResult:
        """Nothing more is to be searched: the finals, if any are left, and then the end."""
        request = self._next_final(history)
        if request is None:
            return NightResult(DONE, reason)
        self._say(f"{reason}; the finals come now")
        return self._start(request)

    def _next_final(self, history: Sequence[TrialView]) -> Request | None:
        boots = self.clock.finals_boots(history)
        return self.finals.next(history, boots) if boots else None

    def _start(self, request: Request) -> Asked:
        asked = self.book.start(request)
        if request.wish is not None:
            grant(self.journal, request.wish, asked.number)
        return asked

    def _one_trial(self, asked: Asked, history: Sequence[TrialView]) -> NightResult | None:
        place = self.clock.done(history) + 1
        planned, left = self.clock.planned(history), self.clock.seconds_left(history)
        self.journal.plan_run(boots_planned=planned, ends_by=_moment_in(left))
        self.reporter.trial_started(asked, place, planned, left)
        outcome = self.run_asked(asked, history)
        settled = self.settling.settle(asked, outcome, history)
        self.reporter.trial_ended(asked, settled.outcome)
        if settled.end_night is None:
            return None
        self.journal.notice(settled.end_night, "error", asked.number)
        return NightResult(FAILED, settled.end_night)

    def _tell_best(self, *, last: bool = False) -> None:
        """Tell of a new winner, of its confirmation, and in the end of what further finals made of that."""
        verdict, told = self.decide(self.book.history()), self._told
        if verdict.best is None or verdict.throughput is None:
            return
        is_news = told is None or (verdict.best, verdict.confirmed) != (told.best, told.confirmed)
        if not is_news and not (last and verdict.confirmed and verdict != told):
            return
        self._told = verdict
        self.journal.verdict(asdict(verdict))
        self.journal.notice(verdict.sentence, trial=verdict.best)
        self.reporter.best(verdict)


def _moment_in(seconds: float | None) -> str | None:
    return None if seconds is None else utc_text(datetime.now(UTC) + timedelta(seconds=seconds))
