"""``autotune stop``: ends a night from outside, and the page that it left running."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.commands import FAILED, NOTHING_FOUND
from autotune.cli.options import StudiesOption, StudyArgument, study_file
from autotune.cli.output import say, say_error
from autotune.cli.status import Status, read_status
from autotune.night.lasting_page import RECORD, RUN_RECORD, end_lasting_page, lasting_page
from db import inbox, queries
from db.engine import open_reader
from db.rows import RunRow

_LOOKS_EVERY_S = 0.5

NowOption = Annotated[bool, typer.Option("--now", help="Do not wait for the end of the running trial.")]
PageOption = Annotated[
    bool, typer.Option("--page", help="End the dashboard that was left running, not the study.")
]


def stop(
    study: StudyArgument = None,
    now: NowOption = False,
    page: PageOption = False,
    studies: StudiesOption = None,
) -> None:
    """End a running study after its trial, and wait until it has ended; it can be gone on with later."""
    path = study_file(study, studies)
    if page:
        _stop_page(path.parent)
        return
    found = read_status(path)
    if not found.standing.goes_on:
        _nobody(found)
    request = inbox.stop_now(path) if now else inbox.stop_after_trial(path)
    run = _wait(path, request)
    if run is None:
        say_error(f"the runner of {found.study.name} died before it could stop; see: autotune status")
        raise typer.Exit(FAILED)
    say(f"{found.study.name}: {run.how}")
    if page_left := lasting_page(path.parent):
        say(f"The dashboard stays at {page_left.url}; end it with: autotune stop --page", style="cyan")


def _nobody(found: Status) -> None:
    say_error(f"nobody runs {found.study.name}: {found.standing.state.sentence}")
    if found.page:
        say_error(f"its dashboard is still at {found.page}; end it with: autotune stop --page")
    raise typer.Exit(NOTHING_FOUND)


def _stop_page(folder: Path) -> None:
    ended = [page for record in (RECORD, RUN_RECORD) if (page := end_lasting_page(folder, record))]
    if not ended:
        say_error(f"no dashboard was left running for {folder.name}")
        raise typer.Exit(NOTHING_FOUND)
    for page in ended:
        say(f"The dashboard at {page.url} has ended.")


def _wait(path: Path, request: int) -> RunRow | None:
    """Until the run is over: how it ended, None if its runner died instead."""
    answered = False
    try:
        while True:
            found = read_status(path)
            answer = None if answered else _answer(path, request)
            if answer is not None:
                answered = True
                say(f"{answer} (Ctrl-C ends only the waiting)")
            if not found.standing.goes_on:
                inbox.withdraw(path, request, "the run had ended by itself")
                return found.standing.run if found.standing.state.word == "ended" else None
            time.sleep(_LOOKS_EVERY_S)
    except KeyboardInterrupt:
        say("\nNot waited for any more; the study ends as asked.")
        raise typer.Exit from None


def _answer(path: Path, request: int) -> str | None:
    with open_reader(path) as reader, reader.connect() as connection:
        return next((row.answer for row in queries.requests(connection) if row.id == request), None)
