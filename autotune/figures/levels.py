"""The winner of each load level beside the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.figures.marks import BLUE, GREY, ORANGE, Figure, Trace, axis, figure, unit
from trials.counted import counted


@dataclass(frozen=True)
class LevelResult:
    """What one level says; throughputs with their 95 % intervals, tok/s, None where there is none.

    Attributes:
        main_winner_tok_s: Of the main level's winner, where another trial wins.
    """

    level: int
    best: int | None
    tok_s: float | None
    ci95: tuple[float, float] | None
    baseline_tok_s: float | None
    baseline_ci95: tuple[float, float] | None
    main_winner_tok_s: float | None


def levels(results: Sequence[LevelResult], main_level: int, *, simulated: bool) -> Figure:
    """Each level's own winner, the main level's winner there, and the baseline."""
    name = unit("tok/s", simulated)
    names = [_name(result) for result in results]
    traces = [
        _bars(
            "baseline",
            GREY,
            "/",
            names,
            [r.baseline_tok_s for r in results],
            [r.baseline_ci95 for r in results],
        ),
        _bars(
            f"winner at {counted(main_level, 'stream')}",
            ORANGE,
            ".",
            names,
            [r.main_winner_tok_s for r in results],
            [None for _ in results],
        ),
        _bars("winner of the level", BLUE, "", names, [r.tok_s for r in results], [r.ci95 for r in results]),
    ]
    return figure(
        "Winner per level",
        "The fastest settings at each load level, beside the baseline and, where another trial wins, what the"
        " main level's winner reaches there. Intervals are 95 %.",
        [trace for trace in traces if any(value is not None for value in trace["y"])],
        {"barmode": "group", "xaxis": {"type": "category"}, "yaxis": axis(name, rangemode="tozero")},
        ["level", "winner", name, "from", "to", f"baseline, {name}", f"main winner there, {name}"],
        [
            (
                counted(result.level, "stream"),
                None if result.best is None else f"trial {result.best}",
                result.tok_s,
                result.ci95[0] if result.ci95 else None,
                result.ci95[1] if result.ci95 else None,
                result.baseline_tok_s,
                result.main_winner_tok_s,
            )
            for result in results
        ],
    )


def _name(result: LevelResult) -> str:
    winner = "" if result.best is None else f"<br>trial {result.best}"
    return f"{counted(result.level, 'stream')}{winner}"


def _bars(
    name: str,
    colour: str,
    pattern: str,
    names: Sequence[str],
    values: Sequence[float | None],
    intervals: Sequence[tuple[float, float] | None],
) -> Trace:
    pairs = list(zip(values, intervals, strict=True))
    return {
        "type": "bar",
        "name": name,
        "x": list(names),
        "y": list(values),
        "marker": {"color": colour, "pattern": {"shape": pattern}},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [ci[1] - value if ci and value is not None else None for value, ci in pairs],
            "arrayminus": [value - ci[0] if ci and value is not None else None for value, ci in pairs],
            "thickness": 1,
        },
        "hovertemplate": f"{name}: %{{y:.1f}} tok/s<extra></extra>",
    }
