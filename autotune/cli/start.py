"""``autotune start``: a night that goes on when the terminal is closed."""

from __future__ import annotations

from pathlib import Path

import typer

from autotune.check import check_study
from autotune.cli.commands import BAD_INPUT, FAILED
from autotune.cli.options import NoDashboardOption, SpecArgument, StudiesOption
from autotune.cli.output import say, say_error
from autotune.night.detached import NotBegunError, start_runner
from autotune.night.lasting_page import open_lasting_page
from autotune.night.lock import StudyIsRunningError, running_holder
from autotune.night.page import PageError
from autotune.night.plans import cache_folder
from autotune.spec import StudySpec
from db.rows import RunRow
from db.studies import studies_folder
from trials.probes import count_cards
from trials.rules import rules_for


def start(
    spec_file: SpecArgument, studies: StudiesOption = None, no_dashboard: NoDashboardOption = False
) -> None:
    """Run a study in the background: check it, begin it, and return while it goes on by itself."""
    spec = StudySpec.load(spec_file)
    folder = studies_folder(studies) / spec.name
    if holder := running_holder(folder):
        raise StudyIsRunningError(folder, holder)
    _check(spec)
    runner = start_runner(spec_file, folder)
    try:
        run = runner.wait_until_begun()
    except NotBegunError as error:
        say_error(str(error))
        raise typer.Exit(FAILED if error.exit_code is None else error.exit_code) from error
    if run.ended_at is not None:
        say(f"{spec.name} is over already: {run.how}")
        raise typer.Exit(runner.process.wait())
    _tell(spec, run, runner.log, spec.name if studies is None else str(folder))
    if not no_dashboard:
        _put_up_page(spec, folder)


def _check(spec: StudySpec) -> None:
    checked = check_study(spec, cache_folder(), rules_for(spec.server, count_cards(spec.server)))
    for problem in checked.problems:
        say_error(str(problem))
    if checked.problems:
        raise typer.Exit(BAD_INPUT)


def _tell(spec: StudySpec, run: RunRow, log: Path, study: str) -> None:
    word = " (SIMULATED: no number of it is real)" if spec.server.simulated else ""
    say(f"{spec.name} runs as process {run.pid} on {run.host}{word}", style="bold")
    say(f"log        {log}")
    say(f"watch it   autotune watch {study}")
    say(f"end it     autotune stop {study}")


def _put_up_page(spec: StudySpec, folder: Path) -> None:
    try:
        page = open_lasting_page(folder, spec.dashboard)
    except PageError as error:
        say_error(f"{error}; the study runs on without it")
        return
    say(f"dashboard  {page.url}", style="cyan")
