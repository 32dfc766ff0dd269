"""``autotune best`` and ``autotune export``: what a study found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Connection

from autotune.cli.commands import BAD_INPUT
from autotune.cli.options import JsonOption, LevelOption, StudiesOption, StudyArgument, opened, study_file
from autotune.cli.output import say, say_error, say_json
from autotune.export import FORMATS, ExportInput, sh
from autotune.export.files import write_files
from autotune.export.from_study import NothingToExportError, measurement_at, winner
from autotune.export.minimal import minimal as shortened
from autotune.night.plans import cache_folder
from autotune.study_view import StudyView
from db.engine import copy_study
from trials.flags import load_catalogue

FormatOption = Annotated[str, typer.Option("--format", help=f"One of: {', '.join(FORMATS)}.")]
AllLevelsOption = Annotated[
    bool, typer.Option("--all-levels", help="A file for the winner of each load level, into --output.")
]
OutputOption = Annotated[Path, typer.Option("--output", help="Folder for --all-levels.")]
MinimalOption = Annotated[
    bool, typer.Option("--minimal", help="Leave out flags that say what the server does anyway.")
]
DatabaseOption = Annotated[
    Path | None, typer.Option("--db", help="Instead of a command: copy the whole study into this file.")
]


def best(
    study: StudyArgument = None,
    level: LevelOption = None,
    studies: StudiesOption = None,
    json: JsonOption = False,
) -> None:
    """Show the best trial, how much better it is than the baseline, and its launch command."""
    with opened(study, studies) as (connection, view):
        if json:
            say_json(_best_json(winner(connection, view, level)))
        else:
            show_best(connection, view, level)


def export(
    study: StudyArgument = None,
    format_name: FormatOption = sh.NAME,
    level: LevelOption = None,
    all_levels: AllLevelsOption = False,
    output: OutputOption = Path(),
    minimal: MinimalOption = False,
    database: DatabaseOption = None,
    studies: StudiesOption = None,
) -> None:
    """Write the winner's launch command, ready to use, to standard output."""
    if database is not None:
        copy_study(study_file(study, studies), database)
        say(f"The study is in {database}.")
        return
    if format_name not in FORMATS:
        say_error(f"There is no format {format_name!r}; write one of: {', '.join(FORMATS)}")
        raise typer.Exit(BAD_INPUT)
    form = FORMATS[format_name]
    with opened(study, studies) as (connection, view):
        chosen = _winners(connection, view, view.bench.levels if all_levels else (level,))
        if minimal:
            chosen = [shortened(exported, load_catalogue(view.server, cache_folder())) for exported in chosen]
    if not all_levels:
        typer.echo(form.write(chosen[0]), nl=False)
        return
    for path in write_files(chosen, form, output):
        say(str(path))


def _winners(connection: Connection, study: StudyView, levels: Sequence[int | None]) -> list[ExportInput]:
    """The winner of each level; a level that nobody won is an error only where no level has a winner."""
    found: list[ExportInput] = []
    missing: list[NothingToExportError] = []
    for level in levels:
        try:
            found.append(winner(connection, study, level))
        except NothingToExportError as nobody:
            missing.append(nobody)
    if not found:
        raise missing[0]
    for reason in missing:
        say_error(str(reason))
    return found


def show_best(connection: Connection, study: StudyView, level: int | None = None) -> None:
    """The verdict in words, then the command.

    Raises:
        NothingToExportError: If the study has no winner.
    """
    exported = winner(connection, study, level)
    say(exported.sentence, style="bold")
    say("")
    for name, value in exported.settings.items():
        note = f"   (the server used {exported.ran[name]})" if name in exported.ran else ""
        say(f"  {name} = {value}{note}")
    say("")
    say(sh.launch_command(exported))


def _best_json(exported: ExportInput) -> dict[str, Any]:
    return {
        **exported.verdict,
        "settings": exported.settings,
        "ran": exported.ran,
        "argv": exported.argv,
        "env": exported.env,
        "measurement": measurement_at(exported).model_dump(mode="json"),
    }
