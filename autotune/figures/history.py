"""The optimisation history: every trial in order, the best so far, crashes on a lane of their own."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from autotune.figures.marks import (
    BLUE,
    FAILURE_MARKS,
    GREEN,
    GREY,
    Figure,
    Trace,
    axis,
    figure,
    throughput_unit,
)
from autotune.figures.points import Point

_ROLES = {"search": "worked", "baseline": "baseline", "canary": "canary", "final": "final"}
_ROLE_SYMBOLS = {"worked": "circle", "baseline": "diamond", "canary": "triangle-up", "final": "star"}


def history(points: Sequence[Point], level: int, *, simulated: bool) -> Figure:
    """Every trial in order: throughput with intervals, the best so far, crashes on a lane of their own."""
    worked = [point for point in points if point.worked]
    by_role = [(name, [point for point in worked if point.role == role]) for role, name in _ROLES.items()]
    stopped = [point for point in points if point.outcome == "stopped" and point.tok_s is not None]
    failed = [point for point in points if point.failure is not None]
    traces = [
        _best_so_far(worked, points),
        *(_worked(name, same, _ROLE_SYMBOLS[name]) for name, same in by_role),
        _stopped(stopped),
        *_crashes(failed),
    ]
    name = throughput_unit(level, simulated)
    return figure(
        "History",
        "Every trial in order with its 95 % interval; the line is the best so far; crashes have a lane of"
        " their own below.",
        [trace for trace in traces if trace["x"]],
        {
            "xaxis": axis("trial", anchor="y2"),
            "yaxis": axis(name, domain=[0.2, 1]),
            "yaxis2": {
                "domain": [0, 0.12],
                "range": [-1, 1],
                "showgrid": False,
                "zeroline": False,
                "tickvals": [0],
                "ticktext": ["failed"],
            },
        },
        ["trial", "outcome", name, "from", "to", "failure"],
        [
            (
                point.number,
                point.outcome,
                point.tok_s,
                point.ci95[0] if point.ci95 else None,
                point.ci95[1] if point.ci95 else None,
                point.failure,
            )
            for point in points
        ],
    )


def _best_so_far(worked: Sequence[Point], points: Sequence[Point]) -> Trace:
    xs: list[int] = []
    ys: list[float] = []
    for point in worked:
        best = max(ys[-1], point.tok_s or 0.0) if ys else point.tok_s or 0.0
        xs.append(point.number)
        ys.append(best)
    if xs and points[-1].number > xs[-1]:
        xs.append(points[-1].number)
        ys.append(ys[-1])
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "best so far",
        "x": xs,
        "y": ys,
        "line": {"shape": "hv", "color": GREEN, "width": 2},
        "hoverinfo": "skip",
    }


def _worked(name: str, points: Sequence[Point], symbol: str) -> Trace:
    trace = _markers(name, points, BLUE, [symbol] * len(points))
    tops = [point.ci95[1] - (point.tok_s or 0.0) if point.ci95 else 0.0 for point in points]
    bottoms = [(point.tok_s or 0.0) - point.ci95[0] if point.ci95 else 0.0 for point in points]
    trace["error_y"] = {
        "type": "data",
        "symmetric": False,
        "array": tops,
        "arrayminus": bottoms,
        "thickness": 1,
        "width": 2,
    }
    return trace


def _stopped(points: Sequence[Point]) -> Trace:
    return _markers("stopped early", points, GREY, ["circle-open"] * len(points))


def _crashes(points: Iterable[Point]) -> list[Trace]:
    by_kind: dict[str, list[Point]] = {}
    for point in points:
        by_kind.setdefault(point.failure or "unknown", []).append(point)
    traces = []
    for kind, same in by_kind.items():
        colour, symbol = FAILURE_MARKS.get(kind, FAILURE_MARKS["unknown"])
        trace = _markers(kind, same, colour, [symbol] * len(same))
        traces.append({**trace, "y": [0] * len(same), "yaxis": "y2"})
    return traces


def _markers(name: str, points: Sequence[Point], colour: str, symbols: Sequence[str]) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [point.number for point in points],
        "y": [point.tok_s for point in points],
        "text": [html.escape(point.text) for point in points],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": colour, "symbol": list(symbols), "size": 9},
    }
