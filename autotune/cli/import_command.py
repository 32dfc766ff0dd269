"""``autotune import``: what earlier studies and logs know, for a study to begin with."""

from __future__ import annotations

import json as json_text
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.commands import BAD_INPUT, NOTHING_FOUND
from autotune.cli.options import JsonOption, StudiesOption, study_file
from autotune.cli.output import say, say_error, say_json
from autotune.importing.from_log import from_log
from autotune.importing.from_optuna import from_optuna, is_plain_optuna
from autotune.importing.from_study import from_study
from autotune.importing.imported import Imported, SourceError
from autotune.importing.into import keep, prepare, target_at
from autotune.importing.target import Target
from autotune.spec import StudySpec
from db.engine import is_sqlite
from db.studies import STUDY_FILE, studies_folder
from trials.settings import SettingValue

SourcesArgument = Annotated[
    list[Path], typer.Argument(metavar="STUDY.db|LOG...", help="Studies (file or folder) and server logs.")
]
IntoOption = Annotated[
    str | None,
    typer.Option("--into", metavar="STUDY", help="The study that is told; left out: the one changed last."),
]
SpecOption = Annotated[
    Path | None, typer.Option("--study", metavar="STUDY.toml", help="A study file instead, begun or not.")
]
ResultOption = Annotated[
    float | None,
    typer.Option("--tok-per-s", help="What the server of a log reached at the main level.", min=0.001),
]
SameMachineOption = Annotated[
    bool, typer.Option("--same-machine", help="The logs are of this study's cards and SGLang.")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting that a log does not show.")
]


def import_boots(
    sources: SourcesArgument,
    into: IntoOption = None,
    spec_file: SpecOption = None,
    tok_per_s: ResultOption = None,
    same_machine: SameMachineOption = False,
    told: SetOption = None,
    studies: StudiesOption = None,
    json: JsonOption = False,
) -> None:
    """Tell a study what earlier studies and server logs know; its next proposal takes that into account."""
    path = _study(into, spec_file, studies)
    target, settings = target_at(path), _settings(told or [])
    seen: list[Imported] = []
    for source in sources:
        try:
            found = _read(source, target, tok_per_s, same_machine, settings)
        except SourceError as error:
            say_error(str(error))
            continue
        keep(path, found)
        seen.append(found)
    if json:
        say_json([asdict(found) | {"sentence": found.sentence} for found in seen])
    else:
        _show(seen)
    if len(seen) < len(sources):
        raise typer.Exit(BAD_INPUT)
    if not any(found.boots for found in seen):
        raise typer.Exit(NOTHING_FOUND)


def _study(into: str | None, spec_file: Path | None, studies: Path | None) -> Path:
    if into is not None and spec_file is not None:
        say_error("--into and --study name one study each; give one of them")
        raise typer.Exit(BAD_INPUT)
    if spec_file is None:
        return study_file(into, studies)
    spec = StudySpec.load(spec_file)
    return prepare(spec, studies_folder(studies) / spec.name)


def _read(
    source: Path, target: Target, tok_s: float | None, same_machine: bool, told: dict[str, SettingValue]
) -> Imported:
    file = source / STUDY_FILE if source.is_dir() else source
    if not file.is_file():
        raise SourceError(f"{source}: there is no such study or log")
    if file.suffix != ".db" and not is_sqlite(file):
        return from_log(file, target, tok_s=tok_s, same_machine=same_machine, told=told)
    return from_optuna(file, target) if is_plain_optuna(file) else from_study(file, target)


def _settings(told: list[str]) -> dict[str, SettingValue]:
    settings: dict[str, SettingValue] = {}
    for text in told:
        name, equals, value = text.partition("=")
        if not equals or not name:
            say_error(f"--set is {text!r}; write NAME=VALUE")
            raise typer.Exit(BAD_INPUT)
        settings[name] = value if name.startswith("env.") else _value(value)
    return settings


def _value(text: str) -> SettingValue:
    try:
        value = json_text.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float | str) else text


def _show(seen: list[Imported]) -> None:
    for found in seen:
        say(found.sentence)
        for sentence in found.left_out:
            say(f"  left out: {sentence}", style="dim")
