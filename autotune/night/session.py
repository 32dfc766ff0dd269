"""One run of a study, from its lock to its last sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from autotune.baseline import known_good_settings
from autotune.liveness import started_s
from autotune.night.agenda import Agenda
from autotune.night.announcing import announcing
from autotune.night.clock import NightClock, seconds_spent
from autotune.night.disk_room import DiskRoom
from autotune.night.ending import run_to_end
from autotune.night.finals import Finals
from autotune.night.inbox_watch import InboxWatch, open_wishes
from autotune.night.lasting_page import page_of_run
from autotune.night.lock import Holder, RunnerLock
from autotune.night.loop import FAILED, Night, NightResult
from autotune.night.opening import STUDY_FILE, Forbidden, describe, open_book
from autotune.night.page import PageError
from autotune.night.plans import Plans, cache_folder
from autotune.night.preflight import preflight
from autotune.night.recovery import Recovery
from autotune.night.reporter import Reporter
from autotune.night.running import Runner, RunTrial
from autotune.night.settling import Settling
from autotune.night.sickness import BOX_WAITS_S, WAITS_S
from autotune.night.stop_requests import StopRequests
from autotune.spec import SpecError, StudySpec
from autotune.trial_view import TrialView
from autotune.verdict import Verdict, decide
from db import queries
from db.journal import Journal
from trials import run_trial as run_real_trial
from trials.abandoned import stop_abandoned
from trials.flags import FlagCatalogue, load_catalogue
from trials.gpus import GpuProbe
from trials.launch import box_state
from trials.probes import open_probe
from trials.rules import rules_for
from trials.settings import Settings
from trials.stopping import stop_policy


def run_night(
    spec: StudySpec,
    folder: Path,
    *,
    reporter: Reporter,
    dashboard: bool,
    run_trial: RunTrial = run_real_trial,
) -> NightResult:
    """Run, or go on with, a study.

    Args:
        folder: The study's own folder; made when it is not there.
        dashboard: Serve the study's page while the night runs.
        run_trial: What lives a trial; tests give a stand-in.

    Raises:
        CatalogueError: If the server cannot be asked what it accepts.
        SpecError: If the study file does not fit the server, or the study that is there already.
        StudyFileError: If the study file is not one of ours, or of a newer autotune.
        StudyIsRunningError: If somebody else runs it.
    """
    catalogue = load_catalogue(spec.server, cache_folder())
    known_good = known_good_settings(spec, catalogue)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        lock = stack.enter_context(RunnerLock(folder))
        probe = stack.enter_context(closing(open_probe(spec.server, box_state(folder))))
        journal = stack.enter_context(Journal.open(folder / STUDY_FILE, create=True))
        announcer = stack.enter_context(announcing(spec, reporter, journal))
        opened = _Opened(spec, folder, catalogue, known_good, probe, journal, announcer)
        if lock.dead_runner is not None:
            opened.say(f"the last runner ({lock.dead_runner}) died; its study is taken over")
        requests = StopRequests()
        stack.enter_context(requests.listening())
        stack.enter_context(InboxWatch(journal, requests))
        if dashboard:
            stack.enter_context(_page(spec, folder, reporter))
        result = opened.run(requests, run_trial)
        announcer.night_over(result)
        return result


@contextmanager
def _page(spec: StudySpec, folder: Path, reporter: Reporter) -> Iterator[None]:
    """The study's page, if it comes up: a night never fails for want of it."""
    with ExitStack() as stack:
        try:
            reporter.page(stack.enter_context(page_of_run(folder, spec.dashboard)))
        except PageError as error:
            reporter.notice(str(error))
        yield


class _Opened:
    """A study with everything open that a run needs."""

    def __init__(
        self,
        spec: StudySpec,
        folder: Path,
        catalogue: FlagCatalogue,
        known_good: Sequence[Settings],
        probe: GpuProbe,
        journal: Journal,
        reporter: Reporter,
    ) -> None:
        self._spec = spec
        self._folder = folder
        self._known_good = known_good
        self._probe = probe
        self._journal = journal
        self._reporter = reporter
        rules = rules_for(spec.server, len(probe.cards()) or None)
        self._forbidden: Forbidden = lambda settings: rules(dict(settings))
        _refuse_impossible(spec, known_good, self._forbidden)
        self._book = open_book(folder / STUDY_FILE, journal, spec, self._forbidden)
        # The card comes last: readers take a file with a card for a study that has all its tables.
        described = describe(journal, spec, catalogue, probe)
        self._uuid = described.uuid
        for sentence in described.changes:
            self.say(sentence)
        self._room = DiskRoom(folder, self.say)

    def say(self, sentence: str) -> None:
        self._journal.notice(sentence)
        self._reporter.notice(sentence)

    def run(self, requests: StopRequests, run_trial: RunTrial) -> NightResult:
        me = Holder.me()
        self._journal.begin_run(pid=me.pid, boot_id=me.boot_id, process_started=started_s(me.pid))
        return run_to_end(
            self._journal,
            lambda: self._recover() or self._unfit() or self._night(requests, run_trial).run(),
        )

    def _recover(self) -> NightResult | None:
        recovery = Recovery(self._book, self._journal, self._folder, self._uuid, self._is_whole)
        found = recovery.run(self._probe, stop_policy(self._spec.server))
        for sentence in found.sentences:
            self.say(sentence)
        cleared = stop_abandoned(self._probe, stop_policy(self._spec.server))
        if cleared.sentence:
            self.say(cleared.sentence)
        left = found.left_behind or cleared.left_behind
        return NightResult(FAILED, left) if left else None

    def _unfit(self) -> NightResult | None:
        """Say what is not well; what would spoil every boot ends the night before it begins."""
        if full := self._room.make(self._book.history()):
            return NightResult(FAILED, full)
        findings = preflight(self._spec, self._folder, self._probe)
        for finding in findings:
            if finding.level == "warning":
                self.say(f"{finding.about}: {finding.sentence}")
        errors = [f"{finding.about}: {finding.sentence}" for finding in findings if finding.level == "error"]
        return NightResult(FAILED, "; ".join(errors)) if errors else None

    def _night(self, requests: StopRequests, run_trial: RunTrial) -> Night:
        spec, journal, book = self._spec, self._journal, self._book
        plans = Plans(spec, self._folder, self._uuid)
        runner = Runner(
            spec.bench, spec.server.simulated, plans, journal, self._reporter, requests, run_trial
        )
        return Night(
            book=book,
            journal=journal,
            agenda=self._agenda(),
            clock=NightClock(spec, seconds_spent(book.history())),
            finals=Finals(spec.bench.main_level, spec.limits, spec.study.seed or 0, self._pinned),
            settling=Settling(book, journal, lambda asked: runner.run(asked, book.history())),
            reporter=self._reporter,
            requests=requests,
            waits_s=BOX_WAITS_S if spec.server.simulated else WAITS_S,
            stop_when_done=spec.study.stop_when_done,
            make_room=self._room.make,
            run_asked=runner.run,
            wishes=partial(open_wishes, journal, space=spec.space, forbidden=self._forbidden),
            decide=self._decide,
        )

    def _agenda(self) -> Agenda:
        baseline, *others = self._known_good or [{}]
        first = len(self._book.history())
        return Agenda(baseline, others, self._spec.space.canonical, self._is_whole, first)

    def _is_whole(self, settings: Mapping[str, Any]) -> bool:
        return not self._spec.space.missing(settings)

    def _decide(self, history: Sequence[TrialView]) -> Verdict:
        spec = self._spec
        return decide(
            history,
            spec.bench.main_level,
            spec.limits,
            pinned=self._pinned(),
            simulated=spec.server.simulated,
        )

    def _pinned(self) -> int | None:
        with self._journal.engine.connect() as connection:
            return queries.pinned_baseline(connection)


def _refuse_impossible(spec: StudySpec, known_good: Sequence[Settings], forbidden: Forbidden) -> None:
    """A known-good entry that a rule forbids is a mistake in the file.

    Raises:
        SpecError: Naming every such entry with the rule's reason.
    """
    problems = [
        spec.problem(("known_good", place), f"can never run: {reason}")
        for place, settings in enumerate(known_good)
        if (reason := forbidden(settings)) is not None
    ]
    if problems:
        raise SpecError(problems)
