"""``autotune report``: what the night found, on the terminal and as a file that can be mailed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.options import StudiesOption, StudyArgument, study_file
from autotune.cli.output import say
from autotune.study_view import read_study
from db.engine import open_reader

HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", help="Write one HTML file with all pictures inside, to mail or to keep."),
]


def report(study: StudyArgument = None, html: HtmlOption = None, studies: StudiesOption = None) -> None:
    """The morning report: the answer, the command, what failed and why."""
    # Templates and pictures: imports that no other command needs.
    from autotune.report import as_html, as_text, read_report

    with open_reader(study_file(study, studies)) as reader, reader.connect() as connection:
        gathered = read_report(
            connection, read_study(connection), pictures=html is not None, caveat=reader.caveat
        )
    if html is None:
        typer.echo(as_text(gathered), nl=False)
        return
    html.write_text(as_html(gathered), encoding="utf-8")
    say(f"The report of {gathered.title} is in {html}.")
