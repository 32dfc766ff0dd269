"""The console script ``autotune``."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

from autotune.cli.check import check
from autotune.cli.commands import Commands
from autotune.cli.diagnose import diagnose
from autotune.cli.explain import explain
from autotune.cli.import_command import import_boots
from autotune.cli.init import init
from autotune.cli.measure import measure
from autotune.cli.report import report
from autotune.cli.results import best, export
from autotune.cli.run import demo, run
from autotune.cli.serve import serve
from autotune.cli.start import start
from autotune.cli.status import status
from autotune.cli.stop import stop
from autotune.cli.verify import verify
from autotune.cli.watch import watch

app = typer.Typer(
    cls=Commands,
    name="autotune",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

for command in (
    demo,
    init,
    check,
    run,
    start,
    status,
    watch,
    stop,
    serve,
    best,
    export,
    report,
    explain,
    diagnose,
    measure,
    verify,
):
    app.command()(command)
app.command("import")(import_boots)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"autotune {metadata.version('sglang-autotune')}")
        raise typer.Exit


@app.callback()
def _autotune(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The night shift that finds your fastest SGLang launch command."""


def main() -> None:
    app()
