from __future__ import annotations

import io

import pytest
from optuna.trial import TrialState
from rich.console import Console

from autotune.cli.live import LiveTerminal
from autotune.cli.plain_lines import PlainLines
from autotune.cli.words import duration, outcome_words
from autotune.night.asking import Asked
from autotune.night.reporter import Reporter
from autotune.trial_view import TrialView
from autotune.verdict import Verdict, decide
from tests.autotune.cli.told_studies import completed, settings_failed
from trials.outcome import AnyOutcome, Completed, Interrupted, Stage, Stopped
from trials.settings import Limits

ASKED = Asked(7, 1, "search", {"cuda_graph_max_bs": 128}, "key", {"why": "a smaller graph"})


def verdict_for(number: int, tok_s: float) -> Verdict:
    trial = TrialView(
        number,
        TrialState.COMPLETE,
        {},
        key=(),
        asked=(),
        value=tok_s,
        measurements=completed(tok_s).measurements,
    )
    return decide([trial], 1, Limits())


def play(reporter: Reporter, outcome: AnyOutcome) -> None:
    """One trial, as a night tells it."""
    reporter.page("http://127.0.0.1:8760/")
    reporter.trial_started(ASKED, 8, 25, 300.0)
    reporter.stage(Stage.LOAD_WEIGHTS, 1.0)
    reporter.progress(1, 119.0)
    for measured in outcome.measurements:
        reporter.measured(measured)
    reporter.trial_ended(ASKED, outcome)
    if isinstance(outcome, Completed):
        reporter.best(verdict_for(7, outcome.measurements[0].decode_tok_s))


def test_plain_lines_say_what_began_why_and_how_it_ended(capsys: pytest.CaptureFixture[str]) -> None:
    play(PlainLines(simulated=True), completed(120.0))
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "dashboard: http://127.0.0.1:8760/",
        "trial 7 (8 of 25) search, about 5 min left: a smaller graph",
        "trial 7: 120.0 simulated tok/s (95 % 119.0 to 121.0) at 1 stream",
        "trial 7 is the best so far",
    ]


def test_a_warning_is_said_once_whatever_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = PlainLines(simulated=False)
    for tokens in (100, 200):
        outcome = completed(120.0).model_copy(update={"warnings": (f"the pool holds {tokens} tokens",)})
        reporter.trial_ended(ASKED, outcome)
    assert capsys.readouterr().out.count("the pool holds") == 1


def test_the_live_terminal_shows_stage_place_best_and_time_left() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=200, color_system=None)
    reporter = LiveTerminal(simulated=False, console=console)
    try:
        play(reporter, completed(120.0))
        reporter.trial_started(ASKED, 9, 25, 200.0)
        reporter.stage(Stage.GRAPH_CAPTURE, 2.0)
        console.print(reporter._draw())
    finally:
        reporter.close()
    shown = screen.getvalue()
    assert "trial 7 (9 of 25) search" in shown
    assert "capturing graphs" in shown
    assert "best: trial 7: 120.0 tok/s (95 % " in shown
    assert "left" in shown
    assert "http://127.0.0.1:8760/" in shown


@pytest.mark.parametrize(
    "outcome, words",
    [
        (settings_failed(), "oom_graph_capture at graph_capture: no room"),
        (Stopped(measurements=completed(50.0).measurements), "given up, cannot win: 50.0 tok/s"),
        (Interrupted(), "interrupted"),
    ],
)
def test_every_ending_has_words(outcome: AnyOutcome, words: str) -> None:
    assert outcome_words(outcome, simulated=False).startswith(words)


@pytest.mark.parametrize("seconds, words", [(42, "42 s"), (720, "12 min"), (11_100, "3 h 05 min")])
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words
