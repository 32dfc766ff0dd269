"""``autotune serve``: the dashboard alone."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.commands import NOTHING_FOUND
from autotune.cli.options import StudiesOption, study_file
from autotune.cli.output import say_error
from autotune.spec import DashboardSection
from db.studies import studies_folder

ServedArgument = Annotated[
    str | None, typer.Argument(metavar="[STUDY]", help="A study's name, folder or study.db; left out: all.")
]
HostOption = Annotated[str, typer.Option("--host", help="Address to listen on.")]
PortOption = Annotated[int, typer.Option("--port", help="Port, or the next free one.", min=0, max=65535)]

_DEFAULT = DashboardSection()


def serve(
    study: ServedArgument = None,
    host: HostOption = _DEFAULT.host,
    port: PortOption = _DEFAULT.port,
    studies: StudiesOption = None,
) -> None:
    """Show a study, or without an argument all studies, in the browser until Ctrl-C."""
    target = _target(study, studies)
    command = [sys.executable, "-m", "autotune.dashboard", str(target), "--host", host, "--port", str(port)]
    # In this process's place: whoever ends it, however hard, ends the page.
    os.execv(command[0], command)


def _target(study: str | None, studies: Path | None) -> Path:
    if study is not None:
        return study_file(study, studies)
    folder = studies_folder(studies)
    if not folder.is_dir():
        say_error(f"There is no folder {folder}; name the folder of your studies with --studies")
        raise typer.Exit(NOTHING_FOUND)
    return folder
