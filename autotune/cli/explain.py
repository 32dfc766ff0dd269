"""``autotune explain``: which of the winner's settings matter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autotune.ablation import boot_without
from autotune.cli.options import JsonOption, LevelOption, StudiesOption, StudyArgument, opened, study_file
from autotune.cli.output import say, say_error, say_json
from autotune.explain import Explanation, most_doubtful
from autotune.explain import explain as explained
from autotune.left_out import read_left_out

BootsOption = Annotated[
    int,
    typer.Option("--boots", min=0, help="Boot the winner without its most doubtful settings, so many times."),
]


def explain(
    study: StudyArgument = None,
    boots: BootsOption = 0,
    level: LevelOption = None,
    studies: StudiesOption = None,
    json: JsonOption = False,
) -> None:
    """Say what each setting of the winner is worth, from the study's model or from boots without it."""
    path = study_file(study, studies)
    found = _explain(path, level)
    if boots:
        boot_without(path, most_doubtful(found, boots), say_error if json else say)
        found = _explain(path, level)
    if json:
        say_json(found.to_json())
        return
    say(found.heading, style="bold")
    for worth in found.worths:
        say(f"  {worth.sentence}")


def _explain(path: Path, level: int | None) -> Explanation:
    with opened(str(path), None) as (_, view):
        return explained(view, level, read_left_out(path.parent))
