"""``autotune measure``: the throughput of any running server, or of two against each other."""

from __future__ import annotations

from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from autotune.cli.commands import BAD_INPUT
from autotune.cli.options import JsonOption
from autotune.cli.output import out, say, say_error, say_json
from autotune.verdict import streams, tok_s_unit
from trials.outcome import Measurement
from trials.prompts import Prompt, load_prompts
from trials.prompts.reader import BUILTIN
from trials.server_info import read_server_info
from trials.settings import MOST_STREAMS, BenchPlan

if TYPE_CHECKING:
    from trials.throughput import Comparison

UrlsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="URL...", help="A running server, e.g. http://127.0.0.1:30000; two with --compare."
    ),
]
CompareOption = Annotated[
    bool, typer.Option("--compare", help="Measure two servers in turn: the second to the first.")
]
LevelsOption = Annotated[str, typer.Option("--levels", help="Concurrent streams, e.g. 1,8,48.")]
TokensOption = Annotated[int, typer.Option("--output-tokens", help="Length of every answer, tokens.", min=2)]
PromptsOption = Annotated[
    str,
    typer.Option("--prompts", metavar="FILE", help="A JSONL file of prompts or chats, or the built-in ones."),
]
SecondsOption = Annotated[
    float,
    typer.Option(
        "--seconds",
        help="At most so long a level and server, s; until all streams decode, four times that.",
        min=0.1,
    ),
]
RoundsOption = Annotated[int, typer.Option("--rounds", help="With --compare: turns of each server.", min=1)]
KeyOption = Annotated[
    str | None,
    typer.Option("--api-key", envvar="AUTOTUNE_API_KEY", help="The servers' key.", show_envvar=True),
]


_DEFAULT = BenchPlan()
_OWN_FILES = 64
"""Files that this process has open besides its streams, with room to spare."""

_WIDE = 200
"""Columns of a table that goes to a file or a pipe."""


def measure(
    urls: UrlsArgument,
    compare: CompareOption = False,
    levels: LevelsOption = "1",
    output_tokens: TokensOption = 256,
    prompts: PromptsOption = BUILTIN,
    seconds: SecondsOption = _DEFAULT.max_seconds_per_level,
    rounds: RoundsOption = 5,
    api_key: KeyOption = None,
    json: JsonOption = False,
) -> None:
    """Measure decode throughput as a study does, on servers that are running already."""
    # The load generator and its statistics: half a second of imports that no other command needs.
    from trials.throughput import compare_urls

    wanted = _levels(levels)
    _check(urls, compare)
    deck = load_prompts(prompts, Path.cwd())
    bench = BenchPlan(output_tokens=output_tokens, max_seconds_per_level=seconds)
    simulated = any(_is_simulated(url) for url in urls)
    if compare:
        first, second = urls
        compared = compare_urls(
            first, second, wanted, bench, deck, rounds=rounds, on_level=_say_level, api_key=api_key
        )
        if json:
            _answer([_comparison_json(one) for one in compared], simulated)
        else:
            _show_compared(compared, simulated)
        return
    measured = _measure(urls[0], wanted, bench, deck, api_key, quiet=json)
    if json:
        _answer([one.model_dump(mode="json") for one in measured], simulated)
    else:
        _show(measured, simulated)


def _is_simulated(url: str) -> bool:
    """Only our own box says so of itself."""
    from trials.load import Endpoint

    return bool(read_server_info(Endpoint.parse(url).url).args.get("simulated"))


def _answer(levels: list[dict[str, Any]], simulated: bool) -> None:
    say_json({"levels": levels, "simulated": simulated})


def _measure(
    url: str,
    levels: list[int],
    bench: BenchPlan,
    deck: tuple[Prompt, ...],
    api_key: str | None,
    *,
    quiet: bool,
) -> list[Measurement]:
    from trials.throughput import measure_url

    if quiet or not out().is_terminal:
        return measure_url(url, levels, bench, deck, on_level=_say_level, api_key=api_key)
    with out().status("waiting for the first token") as status:

        def show(level: int, tok_s: float) -> None:
            status.update(f"{streams(level)}: {tok_s:.1f} tok/s so far")

        def begin(level: int) -> None:
            status.update(f"{streams(level)}: waiting for all to decode")

        return measure_url(url, levels, bench, deck, on_level=begin, on_progress=show, api_key=api_key)


def _say_level(level: int) -> None:
    typer.echo(f"measuring {streams(level)}", err=True)


def _levels(text: str) -> list[int]:
    try:
        levels = [int(part) for part in text.split(",")]
    except ValueError:
        levels = []
    if not levels or min(levels) < 1:
        _refuse(f"--levels is {text!r}; write numbers of streams, e.g. 1,8,48")
    _check_files(max(levels))
    return levels


def _check_files(level: int) -> None:
    """Every stream is an open file, and a process without a free one cannot even end in order."""
    if level > MOST_STREAMS:
        _refuse(f"--levels asks for {streams(level)}; write at most {MOST_STREAMS}")
    limit, _ = getrlimit(RLIMIT_NOFILE)
    most = limit - _OWN_FILES
    if limit != RLIM_INFINITY and level > most:
        _refuse(
            f"--levels asks for {streams(level)}, but this process may have only {limit} files open; "
            f"write at most {most}, or raise the limit (ulimit -n {level + _OWN_FILES})"
        )


def _check(urls: list[str], compare: bool) -> None:
    if compare != (len(urls) == 2) or len(urls) > 2:
        _refuse(f"{len(urls)} addresses; give one, or two with --compare")
    from trials.load import Endpoint

    for url in urls:
        try:
            Endpoint.parse(url)
        except ValueError as error:
            _refuse(str(error))


def _refuse(sentence: str) -> None:
    say_error(sentence)
    raise typer.Exit(BAD_INPUT)


def _show(measured: list[Measurement], simulated: bool) -> None:
    from autotune.report import words

    rows = [words.measured(one, simulated=simulated) for one in measured]
    _print_table(list(rows[0]), [list(row.values()) for row in rows])
    for one in measured:
        for note in one.notes:
            say(f"{streams(one.level)}: {note}", style="yellow")


def _show_compared(compared: list[Comparison], simulated: bool) -> None:
    unit = tok_s_unit(simulated)
    columns = ["streams", f"first, {unit}", f"second, {unit}", "second to first (95 %)"]
    _print_table(columns, [_compared_row(one) for one in compared])
    for one in compared:
        say(_compared_words(one))


def _compared_row(one: Comparison) -> list[str]:
    low_high = one.ratio_ci95
    sure = f" ({low_high[0]:.3f} to {low_high[1]:.3f})" if low_high else " (one round: no interval)"
    return [str(one.level), _mean(one.first), _mean(one.second), f"{one.ratio:.3f}{sure}"]


def _compared_words(one: Comparison) -> str:
    where = f"At {streams(one.level)}"
    if one.ratio_ci95 is None or one.ratio_ci95[0] <= 1 <= one.ratio_ci95[1]:
        return f"{where} no difference is proven."
    return f"{where} the second is {'faster' if one.ratio > 1 else 'slower'}."


def _mean(measured: tuple[Measurement, ...]) -> str:
    return f"{sum(one.decode_tok_s for one in measured) / len(measured):.1f}"


def _comparison_json(one: Comparison) -> dict[str, Any]:
    return {
        "level": one.level,
        "first": [measured.model_dump(mode="json") for measured in one.first],
        "second": [measured.model_dump(mode="json") for measured in one.second],
        "ratio": one.ratio,
        "ratio_ci95": one.ratio_ci95,
    }


def _print_table(columns: list[str], rows: list[list[str]]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*row)
    console = out()
    if not console.is_terminal:
        console.width = _WIDE
    console.print(table)
