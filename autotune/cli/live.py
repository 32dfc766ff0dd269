"""A night's progress on a terminal: finished trials scroll by, the running one is redrawn in place."""

from __future__ import annotations

import time
from threading import Lock

from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from autotune.cli.words import (
    STAGES,
    News,
    duration,
    measured_words,
    outcome_style,
    outcome_words,
    place_words,
    throughput_words,
)
from autotune.night.asking import Asked
from autotune.verdict import Verdict, streams, tok_s_words
from trials.outcome import AnyOutcome, Measurement, Stage

_REDRAWS_PER_S = 4


class LiveTerminal:
    """Draws with Rich; stage, progress and measurements may arrive from other threads."""

    def __init__(self, *, simulated: bool, console: Console | None = None) -> None:
        self._simulated = simulated
        self._news = News()
        self._console = console or Console(highlight=False)
        self._spinner = Spinner("dots")
        self._lock = Lock()
        self._running = ""
        self._doing = ""
        self._best = "nothing has worked yet"
        self._page = ""
        self._started = time.monotonic()
        self._ends: float | None = None
        self._live = Live(
            get_renderable=self._draw,
            console=self._console,
            refresh_per_second=_REDRAWS_PER_S,
            transient=True,
        )
        self._live.start()

    def page(self, url: str) -> None:
        self._page = url
        self._print(Text(f"dashboard: {url}", style="cyan"))

    def notice(self, sentence: str) -> None:
        self._print(Text(sentence, style="yellow"))

    def trial_started(
        self, asked: Asked, place: int, planned: int | None, seconds_left: float | None
    ) -> None:
        with self._lock:
            self._started = time.monotonic()
            self._ends = None if seconds_left is None else self._started + seconds_left
            self._running = f"{place_words(asked.number, place, planned)} {asked.role}"
            self._doing = asked.why

    def stage(self, stage: Stage, seconds: float) -> None:
        self._started = time.monotonic() - seconds
        self._doing = STAGES[stage]

    def progress(self, level: int, tok_s: float) -> None:
        so_far = throughput_words(tok_s, self._simulated)
        self._doing = f"measuring {streams(level)}: {so_far} so far"

    def measured(self, measurement: Measurement) -> None:
        self._doing = measured_words(measurement, self._simulated)

    def trial_ended(self, asked: Asked, outcome: AnyOutcome) -> None:
        with self._lock:
            self._running = ""
        line = Text(f"{asked.number:>4}  ", style="bold")
        line.append(outcome_words(outcome, self._simulated), style=outcome_style(outcome))
        self._print(line)
        if asked.why:
            self._print(Text(f"      {asked.why}", style="dim"))
        for warning in self._news.fresh(outcome.warnings):
            self._print(Text(f"      {warning}", style="yellow"))

    def best(self, verdict: Verdict) -> None:
        if verdict.throughput is not None:
            reached = tok_s_words(verdict.throughput, verdict.simulated)
            self._best = f"trial {verdict.best}: {reached} at {streams(verdict.level)}"

    def close(self) -> None:
        self._live.stop()

    def _print(self, text: Text) -> None:
        self._console.print(text, soft_wrap=True)

    def _draw(self) -> RenderableType:
        with self._lock:
            if not self._running:
                return Text("")
            now = time.monotonic()
            grid = Table.grid(padding=(0, 1))
            elapsed = duration(now - self._started)
            grid.add_row(self._spinner, Text(f"{self._running}  {elapsed}  {self._doing}", style="bold"))
            left = "" if self._ends is None else f"   about {duration(max(0.0, self._ends - now))} left"
            grid.add_row("", Text(f"best: {self._best}{left}", style="green"))
            if self._page:
                grid.add_row("", Text(self._page, style="cyan"))
            return grid
