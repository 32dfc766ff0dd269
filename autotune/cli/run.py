"""``autotune run`` and ``autotune demo``: a night in the foreground."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autotune.cli.commands import INTERRUPTED
from autotune.cli.live import LiveTerminal
from autotune.cli.options import NoDashboardOption, SpecArgument, StudiesOption, opened
from autotune.cli.output import out, say, say_error
from autotune.cli.plain_lines import PlainLines
from autotune.cli.results import show_best
from autotune.export.from_study import NothingToExportError
from autotune.night.lasting_page import page_of_run
from autotune.night.page import PageError
from autotune.night.reporter import Reporter
from autotune.presets import preset
from autotune.rehearsal import rehearsal_of
from autotune.spec import StudySpec
from autotune.standing import read_standing
from db.studies import studies_folder

if TYPE_CHECKING:
    from autotune.night.loop import NightResult

SPEC_FILE = "study.toml"

OnceOption = Annotated[
    bool, typer.Option("--once", help="End after the night instead of keeping the page up.")
]


RehearseOption = Annotated[
    bool, typer.Option("--rehearse", help="Play the study on the simulated box, in minutes.")
]


def run(
    spec_file: SpecArgument,
    studies: StudiesOption = None,
    no_dashboard: NoDashboardOption = False,
    rehearse: RehearseOption = False,
) -> None:
    """Run a study, or go on with it where it stopped: the same command again loses nothing."""
    spec = StudySpec.load(spec_file)
    if rehearse:
        spec = rehearsal_of(spec)
        say(f"Rehearsal on the simulated box {spec.server.box}: no number of it is real.", style="yellow")
    folder = studies_folder(studies) / spec.name
    with reporting(spec.server.simulated) as reporter:
        result = _run_night(spec, folder, reporter, dashboard=not no_dashboard)
    _conclude(result, folder)


def demo(once: OnceOption = False, studies: StudiesOption = None) -> None:
    """Run a short study on the simulated box; no GPU is needed, and no number of it is real."""
    folder = _new_demo(studies_folder(studies))
    spec = StudySpec.load(folder / SPEC_FILE)
    with ExitStack() as stack:
        with reporting(spec.server.simulated) as reporter:
            url = _open_page(stack, spec, folder, reporter)
            result = _run_night(spec, folder, reporter, dashboard=False)
        if result.exit_code == INTERRUPTED:
            say(f"To go on: autotune run {folder / SPEC_FILE} --studies {folder.parent}")
        if once or url is None or result.exit_code:
            _conclude(result, folder)
        _show(result, folder)
        say(f"\nThe dashboard stays at {url} until Ctrl-C.", style="cyan")
        _wait_for_ctrl_c()


def _run_night(spec: StudySpec, folder: Path, reporter: Reporter, *, dashboard: bool) -> NightResult:
    # A night needs the search and the load generator: half a second of imports that no other command needs.
    from autotune.night.session import run_night

    return run_night(spec, folder, reporter=reporter, dashboard=dashboard)


def _open_page(stack: ExitStack, spec: StudySpec, folder: Path, reporter: Reporter) -> str | None:
    """Keep the dashboard up as long as ``stack``, longer than the night; it goes on without one."""
    try:
        url = stack.enter_context(page_of_run(folder, spec.dashboard))
    except PageError as error:
        reporter.notice(str(error))
        return None
    reporter.page(url)
    return url


@contextmanager
def reporting(simulated: bool) -> Iterator[Reporter]:
    """Live progress on a terminal, plain lines otherwise."""
    live = out().is_terminal
    reporter: Reporter = LiveTerminal(simulated=simulated) if live else PlainLines(simulated=simulated)
    try:
        yield reporter
    finally:
        reporter.close()


def _conclude(result: NightResult, folder: Path) -> None:
    _show(result, folder)
    raise typer.Exit(result.exit_code)


def _show(result: NightResult, folder: Path) -> None:
    """How the night ended and, unless somebody is waiting for the prompt, what it found."""
    say(f"\n{result.sentence}\n")
    if result.exit_code == INTERRUPTED:
        return
    try:
        with opened(str(folder), None) as (connection, study):
            show_best(connection, study)
            if saved := read_standing(connection, study).saved_words:
                say(f"\nsaved {saved}")
    except NothingToExportError as error:
        if not result.exit_code:
            raise
        say_error(str(error))


def _new_demo(studies: Path) -> Path:
    """A folder of its own for every demo, with the preset under that name."""
    name = f"demo-{datetime.now():%Y%m%d-%H%M%S}"
    folder = studies / name
    folder.mkdir(parents=True)
    text = preset("demo").read_text(encoding="utf-8")
    (folder / SPEC_FILE).write_text(text.replace('name = "demo"', f'name = "{name}"', 1), encoding="utf-8")
    return folder


def _wait_for_ctrl_c() -> None:
    try:
        signal.pause()
    except KeyboardInterrupt:
        say("")
