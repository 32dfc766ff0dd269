"""``autotune verify``: boots a recorded command here and says whether it does what was recorded."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.commands import FAILED, INTERRUPTED
from autotune.cli.options import JsonOption, LevelOption, StudiesOption, opened
from autotune.cli.output import say, say_error, say_json
from autotune.export import passport as passport_format
from autotune.export.from_study import winner
from autotune.machine import look_at_machine
from autotune.passport import Passport
from autotune.rerun import boot_once
from autotune.verify import Finding, Verification
from autotune.verify import verify as compare
from db.studies import studies_folder
from trials.outcome import Interrupted

PassportArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[PASSPORT|STUDY]", help="A passport (JSON), or a study; left out: the study changed last."
    ),
]


def verify(
    passport: PassportArgument = None,
    level: LevelOption = None,
    studies: StudiesOption = None,
    json: JsonOption = False,
) -> None:
    """Boot a recorded command here and compare: exit code 0 when all figures that decide agree, else 1.

    Another GPU, driver or release explains a difference and is told, but is none by itself.
    """
    recorded = _read(passport, level, studies)
    server = recorded.runnable_server
    machine = look_at_machine(server)
    folder = studies_folder(studies) / f"verify-{recorded.study}-{datetime.now():%Y%m%d-%H%M%S}"
    outcome = boot_once(recorded.settings, server, recorded.bench, folder, say_error if json else say)
    found = compare(recorded, outcome, machine)
    if json:
        say_json({**found.to_json(), "folder": str(folder)})
    else:
        _show(found, folder)
    if isinstance(outcome, Interrupted):
        raise typer.Exit(INTERRUPTED)
    if not found.matches:
        raise typer.Exit(FAILED)


def _read(argument: str | None, level: int | None, studies: Path | None) -> Passport:
    if argument is not None and argument.endswith(".json"):
        return Passport.read(Path(argument))
    with opened(argument, studies) as (connection, view):
        return Passport.parse(passport_format.write(winner(connection, view, level)), view.name)


def _show(found: Verification, folder: Path) -> None:
    say("")
    for finding in found.findings:
        say(f"  {_mark(finding):<8} {finding.about}: {_words(finding)}", style=_style(finding))
    say(f"\n{found.sentence}", style="bold green" if found.matches else "bold red")
    say(f"log: {folder}")


def _mark(finding: Finding) -> str:
    if finding.agrees is None:
        return "unknown"
    return "agrees" if finding.agrees else "differs"


def _style(finding: Finding) -> str:
    if finding.agrees is not False:
        return ""
    return "red" if finding.decides else "yellow"


def _words(finding: Finding) -> str:
    note = f"   ({finding.note})" if finding.note else ""
    if finding.recorded == finding.found:
        return f"{_plain(finding.recorded)}{note}"
    return f"recorded {_plain(finding.recorded)}, here {_plain(finding.found)}{note}"


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, list):
        return ", ".join(f"{value.count(name)}x {name}" for name in dict.fromkeys(value))
    return "unknown" if value is None else str(value or "as asked")
