"""``autotune init``: a first study file out of the machine and the command of today."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.commands import BAD_INPUT
from autotune.cli.output import say, say_error
from autotune.night.plans import cache_folder
from autotune.starting import find_own_server, first_study, write_study

CommandOption = Annotated[
    str | None, typer.Option("--command", help="The command that you run today, in quotes.")
]
UrlOption = Annotated[str | None, typer.Option("--url", help="Address of a server that runs now.")]
ModelOption = Annotated[str | None, typer.Option("--model", help="Model: a folder or a name on the hub.")]
DraftOption = Annotated[str | None, typer.Option("--draft", help="Draft model for speculation.")]
BoxOption = Annotated[
    str | None, typer.Option("--box", help="Write it for a simulated box instead of this machine.")
]
OutputOption = Annotated[Path, typer.Option("--output", help="Where to write it; never overwritten.")]


def init(
    command: CommandOption = None,
    url: UrlOption = None,
    model: ModelOption = None,
    draft: DraftOption = None,
    box: BoxOption = None,
    output: OutputOption = Path("study.toml"),
) -> None:
    """Write a commented study file for this machine, with your own command as the baseline."""
    if command is not None and url is not None:
        say_error("--command and --url say the same thing: keep one of them")
        raise typer.Exit(BAD_INPUT)
    if output.exists():
        say_error(f"{output} is there already and is not overwritten; name another file with --output")
        raise typer.Exit(BAD_INPUT)
    own = find_own_server(cache_folder(), command=command, url=url, model=model, draft=draft, box=box)
    study = first_study(own)
    write_study(study, output)
    say(f"{output} is written. Read it, change what is yours, then:")
    say(f"  autotune check {output}")
    say(f"  autotune run {output} --rehearse")
    say(f"  autotune run {output}")
    for remark in own.remarks:
        say_error(f"note: {remark}")
