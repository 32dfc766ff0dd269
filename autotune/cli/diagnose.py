"""``autotune diagnose``: what a server log says about how the server ended."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.commands import BAD_INPUT
from autotune.cli.options import JsonOption
from autotune.cli.output import say, say_error
from trials.failures import Diagnosis, diagnose_file
from trials.failures.files import LogError
from trials.outcome import Remedy

LogsArgument = Annotated[
    list[Path], typer.Argument(metavar="LOG...", help="Server logs, plain or compressed.")
]
ExitCodeOption = Annotated[
    int | None, typer.Option("--exit-code", help="How the server's process ended, where that is known.")
]


def diagnose(logs: LogsArgument, exit_code: ExitCodeOption = None, json: JsonOption = False) -> None:
    """Say what went wrong in a server log, with the lines that prove it; exits 0 whatever it finds."""
    unreadable = 0
    for file in logs:
        try:
            diagnosis = _diagnosed(file, exit_code)
        except LogError as error:
            say_error(str(error))
            unreadable += 1
            continue
        if json:
            typer.echo(json_text.dumps(diagnosis.as_line(str(file)), ensure_ascii=False))
        else:
            _show(file, diagnosis)
    if unreadable:
        raise typer.Exit(BAD_INPUT)


def _diagnosed(file: Path, exit_code: int | None) -> Diagnosis:
    if file.is_file() and not file.stat().st_size:
        raise LogError(f"{file}: is empty; name the log that the server wrote")
    return diagnose_file(file, exit_code=exit_code)


def _show(file: Path, diagnosis: Diagnosis) -> None:
    failure = diagnosis.failure
    if failure is None:
        say(f"{file}: {diagnosis.verdict}", style="green")
        return
    say(f"{file}: {failure.kind} at stage {failure.stage}; at fault: {failure.at_fault}", style="bold red")
    say(f"  {failure.summary}")
    for line in failure.evidence:
        say(f"  | {line}", style="dim")
    for remedy in failure.remedies:
        say(f"  try: {_words(remedy)}")


def _words(remedy: Remedy) -> str:
    bound = ""
    if remedy.bound is not None:
        bound = f" above {remedy.bound:g}" if remedy.direction == "raise" else f" below {remedy.bound:g}"
    return f"{remedy.direction} {remedy.setting}{bound}"
