"""A night's turning points, told to the study's webhook beside the reporter: new best, over, machine sick."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from autotune.night.asking import Asked
from autotune.night.letters import Event, News
from autotune.night.loop import FAILED, NightResult
from autotune.night.reporter import Reporter
from autotune.night.webhook import Webhook
from autotune.spec import StudySpec
from autotune.verdict import Verdict
from db.clock import utc_now
from db.errors import StudyFileError
from db.journal import Journal
from trials.outcome import AnyOutcome, Measurement, Stage
from trials.secrets import redact_text, secrets_in

_log = logging.getLogger(__name__)


@contextmanager
def announcing(spec: StudySpec, reporter: Reporter, journal: Journal) -> Iterator[Announcer]:
    """The reporter of a night, which also posts where the study file says so; an error is posted as well."""

    def trouble(sentence: str) -> None:
        reporter.notice(sentence)
        try:
            journal.notice(sentence, "warning")
        except StudyFileError as error:
            _log.warning("%s", error)

    if spec.notify.webhook is None:
        yield Announcer(spec, reporter, lambda news: None)
        return
    with Webhook(spec.notify.webhook, trouble) as webhook:
        announcer = Announcer(spec, reporter, webhook.post)
        try:
            yield announcer
        except Exception as error:
            announcer.night_over(NightResult(FAILED, str(error)))
            raise


class Announcer:
    """A ``Reporter`` that passes everything on."""

    def __init__(self, spec: StudySpec, reporter: Reporter, post: Callable[[News], None]) -> None:
        self._spec = spec
        self._reporter = reporter
        self._post = post
        self._verdict: Verdict | None = None

    def night_over(self, result: NightResult) -> None:
        """Say how the night ended, and what it found."""
        found = f"\n{self._verdict.sentence}" if self._verdict else ""
        self._announce("box_sick" if result.exit_code == FAILED else "night_over", result.sentence + found)

    def best(self, verdict: Verdict) -> None:
        self._verdict = verdict
        if verdict.best != verdict.baseline:
            self._announce("new_best", verdict.sentence)
        self._reporter.best(verdict)

    def page(self, url: str) -> None:
        self._reporter.page(url)

    def notice(self, sentence: str) -> None:
        self._reporter.notice(sentence)

    def trial_started(
        self, asked: Asked, place: int, planned: int | None, seconds_left: float | None
    ) -> None:
        self._reporter.trial_started(asked, place, planned, seconds_left)

    def stage(self, stage: Stage, seconds: float) -> None:
        self._reporter.stage(stage, seconds)

    def progress(self, level: int, tok_s: float) -> None:
        self._reporter.progress(level, tok_s)

    def measured(self, measurement: Measurement) -> None:
        self._reporter.measured(measurement)

    def trial_ended(self, asked: Asked, outcome: AnyOutcome) -> None:
        self._reporter.trial_ended(asked, outcome)

    def close(self) -> None:
        self._reporter.close()

    def _announce(self, event: Event, text: str) -> None:
        server = self._spec.server
        shown = redact_text(text, secrets_in(server.args, server.env))
        verdict = self._verdict.to_json() if self._verdict else None
        self._post(News(event, self._spec.name, server.simulated, utc_now(), shown, verdict))
