"""A night's progress as plain lines: for pipes, logs and terminals that cannot redraw."""

from __future__ import annotations

from autotune.cli.output import say, say_error
from autotune.cli.words import News, duration, outcome_words, place_words
from autotune.night.asking import Asked
from autotune.verdict import Verdict
from trials.outcome import AnyOutcome, Measurement, Stage


class PlainLines:
    """Two lines a trial: what begins and why, and how it ended."""

    def __init__(self, *, simulated: bool) -> None:
        self._simulated = simulated
        self._news = News()

    def page(self, url: str) -> None:
        say(f"dashboard: {url}")

    def notice(self, sentence: str) -> None:
        say_error(sentence)

    def trial_started(
        self, asked: Asked, place: int, planned: int | None, seconds_left: float | None
    ) -> None:
        left = "" if seconds_left is None else f", about {duration(seconds_left)} left"
        why = f": {asked.why}" if asked.why else ""
        say(f"{place_words(asked.number, place, planned)} {asked.role}{left}{why}")

    def stage(self, stage: Stage, seconds: float) -> None:
        pass

    def progress(self, level: int, tok_s: float) -> None:
        pass

    def measured(self, measurement: Measurement) -> None:
        pass

    def trial_ended(self, asked: Asked, outcome: AnyOutcome) -> None:
        say(f"trial {asked.number}: {outcome_words(outcome, self._simulated)}")
        for warning in self._news.fresh(outcome.warnings):
            say(f"trial {asked.number}: note: {warning}")

    def best(self, verdict: Verdict) -> None:
        say(f"trial {verdict.best} is the best so far")

    def close(self) -> None:
        pass
