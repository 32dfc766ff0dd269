"""Arguments and options that several commands share, and how a STUDY argument is resolved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from sqlalchemy import Connection

from autotune.cli.commands import NOTHING_FOUND
from autotune.cli.output import say_error
from autotune.study_view import StudyView, read_study
from db.engine import open_reader
from db.studies import find_study, list_studies, studies_folder

StudyArgument: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="[STUDY]", help="A study's name, folder or study.db; left out: the one changed last."
    ),
]
StudiesOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--studies", help="Folder of all studies (default: $AUTOTUNE_STUDIES, else ./studies)."),
]
SpecArgument: TypeAlias = Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study file.")]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
NoDashboardOption: TypeAlias = Annotated[
    bool, typer.Option("--no-dashboard", help="Do not start the dashboard.")
]
LevelOption: TypeAlias = Annotated[
    int | None, typer.Option("--level", help="Concurrent streams (default: the study's main level).")
]


def study_file(study: str | None, studies: Path | None) -> Path:
    """The ``study.db`` that is meant; without any study the command ends as "nothing found"."""
    folder = studies_folder(studies)
    if study is None and not list_studies(folder):
        say_error(f"There is no study in {folder}; start one with: autotune run STUDY.toml")
        raise typer.Exit(NOTHING_FOUND)
    return find_study(study, folder)


@contextmanager
def opened(study: str | None, studies: Path | None) -> Iterator[tuple[Connection, StudyView]]:
    """A study read once; what may be missing from its file is said on standard error."""
    with open_reader(study_file(study, studies)) as reader, reader.connect() as connection:
        if reader.caveat:
            say_error(reader.caveat)
        yield connection, read_study(connection)
