"""Every picture as a Plotly figure in plain JSON: ``{"data": [...], "layout": {...}}``.

Pure functions of plain data; only SVG trace types, so that a picture prints and needs no WebGL. Colours of
text, grid and background are the page's (light or dark); colours of data are close to those of Okabe and
Ito, which the colour-blind can tell apart, and every kind has a symbol of its own as well.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Figure: TypeAlias = dict[str, Any]
Trace: TypeAlias = dict[str, Any]

BLUE, ORANGE, GREEN, RED = "#1F84C9", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY, YELLOW = "#CC79A7", "#56B4E9", "#8a8f98", "#B8A500"

FAILURE_MARKS: dict[str, tuple[str, str]] = {
    "kv_pool_too_small": (SKY, "triangle-up"),
    "oom_kv_pool": (ORANGE, "triangle-down"),
    "oom_graph_capture": (ORANGE, "x"),
    "oom_runtime": (ORANGE, "square"),
    "oom_weights": (ORANGE, "diamond"),
    "oom_host": (ORANGE, "star"),
    "unsupported_kernel": (PURPLE, "cross"),
    "kernel_fault": (RED, "x"),
    "communication": (RED, "cross"),
    "invalid_settings": (YELLOW, "square"),
    "hang": (BLUE, "hourglass"),
    "wrong_output": (GREEN, "x"),
    "environment": (GREY, "x"),
    "model": (GREY, "square"),
    "unknown": (GREY, "circle"),
}
"""Colour and symbol of each kind of failure (``trials.outcome.FailureKind``)."""

_ROLE_SYMBOLS = {"baseline": "diamond", "final": "star", "canary": "triangle-up"}


@dataclass(frozen=True)
class HistoryPoint:
    """One trial in the history.

    Attributes:
        outcome: As ``db.outcomes`` words it, or "running".
        tok_s: tok/s at the level of the picture, None where none was measured.
        ci95: Its 95 % interval, tok/s.
        failure: Kind of the failure, None without one.
        text: What a reader sees when pointing at it.
    """

    number: int
    role: str
    outcome: str
    tok_s: float | None
    ci95: tuple[float, float] | None
    failure: str | None
    text: str


def history(points: Sequence[HistoryPoint], level: int, *, simulated: bool) -> Figure:
    """Every trial in order: throughput with intervals, the best so far, crashes on a lane of their own."""
    worked = [point for point in points if point.outcome == "completed" and point.tok_s is not None]
    stopped = [point for point in points if point.outcome == "stopped" and point.tok_s is not None]
    failed = [point for point in points if point.failure is not None]
    traces = [_best_so_far(worked, points), _worked(worked), _stopped(stopped), *_crashes(failed)]
    return {
        "data": [trace for trace in traces if trace["x"]],
        "layout": {
            "xaxis": {"title": {"text": "trial"}, "zeroline": False, "anchor": "y2"},
            "yaxis": {
                "title": {"text": f"tok/s, {streams(level)}{_simulated(simulated)}"},
                "domain": [0.2, 1],
            },
            "yaxis2": {
                "domain": [0, 0.12],
                "range": [-1, 1],
                "showgrid": False,
                "zeroline": False,
                "tickvals": [0],
                "ticktext": ["failed"],
            },
            "hovermode": "closest",
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        },
    }


def gpu_memory(moments: Sequence[float], used_gib: dict[int, Sequence[float]], *, simulated: bool) -> Figure:
    """Memory in use on each card of a trial.

    Args:
        moments: Seconds since the trial's start.
        used_gib: GiB by number of the card, one value a moment.
    """
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines",
                "name": f"GPU {card}",
                "x": list(moments),
                "y": list(values),
                "line": {"width": 1.5},
            }
            for card, values in used_gib.items()
        ],
        "layout": {
            "xaxis": {"title": {"text": "s since the trial's start"}, "zeroline": False},
            "yaxis": {"title": {"text": f"in use, GiB{_simulated(simulated)}"}, "rangemode": "tozero"},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        },
    }


def streams(level: int) -> str:
    """A load level in words."""
    return "1 stream" if level == 1 else f"{level} streams"


def _simulated(simulated: bool) -> str:
    return " (simulated)" if simulated else ""


def _best_so_far(worked: Sequence[HistoryPoint], points: Sequence[HistoryPoint]) -> Trace:
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


def _worked(points: Sequence[HistoryPoint]) -> Trace:
    trace = _markers("worked", points, BLUE, [_ROLE_SYMBOLS.get(point.role, "circle") for point in points])
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


def _stopped(points: Sequence[HistoryPoint]) -> Trace:
    return _markers("stopped early", points, GREY, ["circle-open"] * len(points))


def _crashes(points: Iterable[HistoryPoint]) -> list[Trace]:
    by_kind: dict[str, list[HistoryPoint]] = {}
    for point in points:
        by_kind.setdefault(point.failure or "unknown", []).append(point)
    traces = []
    for kind, same in by_kind.items():
        colour, symbol = FAILURE_MARKS.get(kind, FAILURE_MARKS["unknown"])
        trace = _markers(kind, same, colour, [symbol] * len(same))
        traces.append({**trace, "y": [0] * len(same), "yaxis": "y2"})
    return traces


def _markers(name: str, points: Sequence[HistoryPoint], colour: str, symbols: Sequence[str]) -> Trace:
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
