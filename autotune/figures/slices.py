"""A slice: throughput over one setting, with the crashes of each value visible below."""

from __future__ import annotations

import html
from collections.abc import Sequence

from autotune.figures.marks import BLUE, FAILURE_MARKS, Figure, Trace, axis, figure, throughput_unit
from autotune.figures.points import Point, SettingAxis, jitter


def setting_slice(points: Sequence[Point], one: SettingAxis, level: int, *, simulated: bool) -> Figure:
    """Every trial over the value of one setting."""
    here = [point for point in points if one.name in point.settings]
    worked = [point for point in here if point.worked]
    failed = [point for point in here if point.failure is not None]
    name = throughput_unit(level, simulated)
    return figure(
        "One setting at a time",
        f"Throughput of every trial over its {one.name}; trials that failed stand below, over the value that"
        " they had.",
        [*([_worked(worked, one)] if worked else []), *_failed(failed, one)],
        {
            "xaxis": one.layout(anchor="y2"),
            "yaxis": axis(name, domain=[0.32, 1]),
            "yaxis2": {
                "domain": [0, 0.24],
                "range": [-0.6, 0.6],
                "showgrid": False,
                "zeroline": False,
                "tickvals": [0],
                "ticktext": ["failed"],
            },
        },
        [one.name, "worked", f"best {name}", "failed"],
        _table(here, one),
    )


def _table(points: Sequence[Point], one: SettingAxis) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for value in one.values:
        same = [point for point in points if point.settings[one.name] == value]
        speeds = [point.tok_s for point in same if point.worked and point.tok_s is not None]
        failed = sum(point.failure is not None for point in same)
        rows.append((value, len(speeds), max(speeds, default=None), failed))
    return rows


def _worked(points: Sequence[Point], one: SettingAxis) -> Trace:
    return {
        **_markers("worked", points, one),
        "y": [point.tok_s for point in points],
        "marker": {"color": BLUE, "symbol": "circle", "size": 8, "opacity": 0.8},
    }


def _failed(points: Sequence[Point], one: SettingAxis) -> list[Trace]:
    by_kind: dict[str, list[Point]] = {}
    for point in points:
        by_kind.setdefault(point.failure or "unknown", []).append(point)
    traces = []
    for kind, same in by_kind.items():
        colour, symbol = FAILURE_MARKS.get(kind, FAILURE_MARKS["unknown"])
        trace = {**_markers(kind, same, one), "yaxis": "y2"}
        trace["y"] = [round(jitter(point.number * 5 + 1, 0.8), 3) for point in same]
        traces.append({**trace, "marker": {"color": colour, "symbol": symbol, "size": 8}})
    return traces


def _markers(name: str, points: Sequence[Point], one: SettingAxis) -> Trace:
    xs = [one.place(point.settings[one.name]) + jitter(point.number, 0.4) for point in points]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [round(x, 3) for x in xs],
        "text": [html.escape(point.text) for point in points],
        "customdata": [point.number for point in points],
        "hovertemplate": "%{text}<extra></extra>",
    }
