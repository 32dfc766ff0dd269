"""``autotune status``: is it running, how far is it, what is the best so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from autotune.cli.commands import NOTHING_FOUND
from autotune.cli.options import JsonOption, StudiesOption, StudyArgument, study_file
from autotune.cli.output import say, say_error, say_json
from autotune.cli.words import duration
from autotune.importing.imported import taken_words
from autotune.night.detached import RUN_LOG
from autotune.night.lasting_page import RUN_RECORD, lasting_page
from autotune.standing import OUTCOME_LABELS, SHOWN_OUTCOMES, Standing, read_standing, shown_outcome
from autotune.study_view import StudyView, read_study
from db.engine import open_reader
from db.errors import StudyFileError
from db.imports import ImportedSource, imported_sources
from db.studies import list_studies, studies_folder
from trials.marks import marked_processes

AllOption = Annotated[bool, typer.Option("--all", help="A line for every study in the folder.")]


@dataclass(frozen=True)
class Status:
    """A study and where it stands.

    Attributes:
        imports: Sources of boots from elsewhere that it was told of.
        caveat: What may be missing from its file, None when nothing is.
        page: Address of its page, None while none is up.
        left_running: Processes of the server that a dead runner left: they hold the GPUs.
    """

    folder: Path
    study: StudyView
    standing: Standing
    imports: Sequence[ImportedSource]
    caveat: str | None
    page: str | None
    left_running: int

    def to_json(self) -> dict[str, Any]:
        stands, run = self.standing, self.standing.run
        return {
            "name": self.study.name,
            "folder": str(self.folder),
            "simulated": self.study.card.simulated,
            "state": stands.state.word,
            "state_sentence": stands.state.sentence,
            "runner": {"pid": run.pid, "host": run.host, "since": run.started_at}
            if run and stands.goes_on
            else None,
            "trials": dict(stands.counts),
            "plan": stands.plan_json(),
            "best": self.study.verdict().to_json(),
            "imports": [asdict(source) for source in self.imports],
            "page": self.page,
            "left_running": self.left_running,
            "caveat": self.caveat,
        }


def status(
    study: StudyArgument = None,
    everything: AllOption = False,
    studies: StudiesOption = None,
    json: JsonOption = False,
) -> None:
    """Say whether a study runs, who runs it, how far it is and what it has found."""
    if everything:
        _show_all(studies_folder(studies), json)
        return
    found = read_status(study_file(study, studies))
    if json:
        say_json(found.to_json())
    else:
        show_status(found)


def read_status(path: Path) -> Status:
    """Read a study.

    Raises:
        StudyFileError: If it is no study, or its first run is still setting it up.
    """
    with open_reader(path) as reader, reader.connect() as connection:
        study = read_study(connection)
        stands = read_standing(connection, study)
        imports = imported_sources(connection)
    page = lasting_page(path.parent) or lasting_page(path.parent, RUN_RECORD)
    left = len(marked_processes(study.card.uuid)) if stands.state.word == "died" else 0
    return Status(path.parent, study, stands, imports, reader.caveat, page.url if page else None, left)


def show_status(found: Status) -> None:
    stands = found.standing
    if found.caveat:
        say_error(found.caveat)
    word = " (SIMULATED: no number of it is real)" if found.study.card.simulated else ""
    say(f"{found.study.name}{word}", style="bold")
    say(f"state   {_state_words(stands)}")
    if found.left_running:
        say(f"server  {found.left_running} of its processes still run, until the next run ends them")
    say(f"trials  {_count_words(stands)}")
    say(f"best    {found.study.verdict().sentence}", style="green")
    if left := _left_words(stands):
        say(f"left    {left}")
    if stands.saved_words:
        say(f"saved   {stands.saved_words}")
    for source in found.imports:
        say(f"told    {taken_words(source)}")
    if found.page:
        say(f"page    {found.page}", style="cyan")
    log = found.folder / RUN_LOG
    if log.exists():
        say(f"log     {log}")


def _show_all(folder: Path, json: bool) -> None:
    files = list_studies(folder)
    if not files:
        say_error(f"There is no study in {folder}; start one with: autotune start STUDY.toml")
        raise typer.Exit(NOTHING_FOUND)
    seen = []
    for file in files:
        try:
            seen.append(read_status(file))
        except StudyFileError as error:
            say_error(str(error))
    if json:
        say_json([found.to_json() for found in seen])
        return
    widest = max((len(found.study.name) for found in seen), default=0)
    for found in seen:
        say(f"{found.study.name:<{widest}}  {found.standing.state.word:<9}  {found.study.verdict().sentence}")


def _state_words(stands: Standing) -> str:
    if stands.run is not None and stands.goes_on:
        return f"{stands.state.sentence}, since {_local(stands.run.started_at)}"
    return stands.state.sentence


def _count_words(stands: Standing) -> str:
    parts = [
        f"{stands.counts[word]} {SHOWN_OUTCOMES[shown_outcome(word, stands.state.word)]}"
        for word in OUTCOME_LABELS
        if stands.counts[word]
    ]
    return f"{stands.counts['total']}" + (f": {', '.join(parts)}" if parts else "")


def _left_words(stands: Standing) -> str:
    if not stands.goes_on:
        return ""
    parts = []
    if stands.boots_left is not None:
        parts.append(f"{stands.boots_left} boots")
    if stands.seconds_left is not None:
        parts.append(f"about {duration(stands.seconds_left)}")
    if stands.run is not None and stands.run.ends_by is not None:
        parts.append(f"ends by {_local(stands.run.ends_by)}")
    return ", ".join(parts)


def _local(moment: str) -> str:
    """In the reader's own time zone."""
    return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%d %H:%M %Z}"
