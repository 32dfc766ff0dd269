"""``autotune best`` and ``autotune export``: what a study found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Connection

from autotune.cli.commands import BAD_INPUT
from autotune.cli.options import JsonOption, LevelOption, StudiesOption, StudyArgument, opened, study_file
from autotune.cli.output import say, say_error, say_json
from autotune.export import FORMATS, ExportInput, sh
from autotune.export.from_study import measurement_at, winner
from autotune.study_view import StudyView
from db.engine import copy_study

FormatOption = Annotated[str, typer.Option("--format", help=f"One of: {', '.join(FORMATS)}.")]
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
    with opened(study, studies) as (connection, view):
        typer.echo(FORMATS[format_name].write(winner(connection, view, level)), nl=False)


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
