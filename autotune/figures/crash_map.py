"""The crash map: any two settings against each other; what worked, what was too low, too high, or hit a
kernel, over the shade of what the search believes will boot."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from autotune.figures.marks import (
    BLUE,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    Figure,
    Trace,
    figure,
)
from autotune.figures.points import Point, SettingAxis, jitter, label

_GROUPS: dict[str, tuple[str, str, frozenset[str]]] = {
    "too low: no room for the KV pool": (SKY, "triangle-up", frozenset({"kv_pool_too_small"})),
    "too high: out of memory": (
        ORANGE,
        "triangle-down",
        frozenset({"oom_kv_pool", "oom_graph_capture", "oom_runtime", "oom_weights", "oom_host"}),
    ),
    "kernel or communication": (
        PURPLE,
        "x",
        frozenset({"unsupported_kernel", "kernel_fault", "communication", "wrong_output"}),
    ),
}
_OTHER = ("another failure", GREY, "square-open")
_WORKED = ("worked", BLUE, "circle")
_GAP = 0.08


@dataclass(frozen=True)
class Panel:
    """One value of the setting that the map is split by.

    Attributes:
        title: Above the panel; empty when the map is not split.
        chances: Probability of a boot at each place, a row per value of the vertical axis; None: unknown.
    """

    title: str
    points: Sequence[Point]
    chances: Sequence[Sequence[float]] | None


def crash_map(
    across: SettingAxis, up: SettingAxis, panels: Sequence[Panel], *, narrow: bool = False
) -> Figure:
    """Two settings against each other.

    Args:
        narrow: Panels below each other instead of side by side.
    """
    panels = [replace(panel, points=[one for one in panel.points if _has_ended(one)]) for panel in panels]
    data: list[Trace] = []
    layout: dict[str, Any] = {"annotations": []}
    shown: set[str] = set()
    for place, panel in enumerate(panels):
        suffix = str(place + 1) if place else ""
        layout.update(_axes(across, up, place, len(panels), narrow))
        if panel.title:
            layout["annotations"].append(_heading(panel.title, suffix))
        if panel.chances is not None:
            data.append(_shade(panel.chances, suffix, is_first=place == 0))
        data += _marks(panel.points, across, up, suffix, shown)
    layout["legend"] = {"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0}
    layout["height"] = 340 + 300 * (len(panels) - 1) if narrow else None
    return figure(
        "Crash map",
        f"{across.name} against {up.name}: what worked and what did not. The darker the ground, the surer the"
        " search is that settings there fail; its lines are at 25, 50 and 75 %.",
        data,
        layout,
        ["trial", across.name, up.name, "group", "failure", "panel"],
        [
            (
                point.number,
                point.settings.get(across.name),
                point.settings.get(up.name),
                _group(point)[0],
                point.failure,
                panel.title,
            )
            for panel in panels
            for point in panel.points
        ],
    )


def _axes(across: SettingAxis, up: SettingAxis, place: int, count: int, narrow: bool) -> dict[str, Any]:
    suffix = str(place + 1) if place else ""
    size = (1 - _GAP * (count - 1)) / count
    start = place * (size + _GAP)
    whole, part = [0, 1], [start, start + size]
    if narrow:
        part = [1 - start - size, 1 - start - (0.04 if count > 1 else 0)]
    hidden: dict[str, Any] = {"title": {"text": ""}, "showticklabels": False} if place and not narrow else {}
    untitled: dict[str, Any] = {"title": {"text": ""}} if narrow and place < count - 1 else {}
    return {
        f"xaxis{suffix}": across.layout(
            6 if count > 1 or narrow else 12,
            domain=whole if narrow else part,
            anchor=f"y{suffix}",
            **untitled,
        ),
        f"yaxis{suffix}": up.layout(
            domain=part if narrow else whole,
            anchor=f"x{suffix}",
            **hidden,
        ),
    }


def _heading(title: str, suffix: str) -> dict[str, Any]:
    return {
        "text": html.escape(title),
        "x": 0,
        "y": 1,
        "xref": f"x{suffix} domain",
        "yref": f"y{suffix} domain",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
    }


def _shade(chances: Sequence[Sequence[float]], suffix: str, *, is_first: bool) -> Trace:
    # The outermost values are repeated half a place further out, so that the ground reaches the frame.
    rows = [[row[0], *row, row[-1]] for row in [chances[0], *chances, chances[-1]]]
    return {
        "type": "contour",
        "z": [[round(1 - chance, 3) for chance in row] for row in rows],
        "x": _padded(len(chances[0])),
        "y": _padded(len(chances)),
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
        "zmin": 0,
        "zmax": 1,
        "contours": {"start": 0.25, "end": 0.75, "size": 0.25, "coloring": "fill"},
        "colorscale": [[0, "rgba(138,143,152,0)"], [1, "rgba(138,143,152,0.55)"]],
        "line": {"width": 1, "color": GREY, "smoothing": 0},
        "showscale": False,
        "hoverinfo": "skip",
        "name": "believed to fail",
        "showlegend": is_first,
    }


def _padded(count: int) -> list[float]:
    return [-0.5, *range(count), count - 0.5]


def _marks(
    points: Sequence[Point], across: SettingAxis, up: SettingAxis, suffix: str, shown: set[str]
) -> list[Trace]:
    groups: dict[tuple[str, str, str], list[Point]] = {}
    for point in points:
        if across.name in point.settings and up.name in point.settings:
            groups.setdefault(_group(point), []).append(point)
    traces = []
    for (name, colour, symbol), same in groups.items():
        traces.append(
            _group_trace(name, colour, symbol, same, across, up, suffix, is_first=name not in shown)
        )
        shown.add(name)
    return traces


def _group_trace(
    name: str,
    colour: str,
    symbol: str,
    points: Sequence[Point],
    across: SettingAxis,
    up: SettingAxis,
    suffix: str,
    *,
    is_first: bool,
) -> Trace:
    # Trials of the same two values would hide each other: they are spread within their cell.
    xs = [across.place(point.settings[across.name]) + jitter(point.number, 0.3) for point in points]
    ys = [up.place(point.settings[up.name]) + jitter(point.number * 7 + 3, 0.5) for point in points]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "legendgroup": name,
        "showlegend": is_first,
        "x": [round(x, 3) for x in xs],
        "y": [round(y, 3) for y in ys],
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
        "text": [
            html.escape(
                f"{point.text}; {across.name} {label(point.settings[across.name])},"
                f" {up.name} {label(point.settings[up.name])}"
            )
            for point in points
        ],
        "customdata": [point.number for point in points],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": colour, "symbol": symbol, "size": 9, "line": {"width": 0.5, "color": "#fff"}},
    }


def _has_ended(point: Point) -> bool:
    return point.failure is not None or point.outcome in ("completed", "stopped")


def _group(point: Point) -> tuple[str, str, str]:
    if point.failure is None:
        return _WORKED
    for name, (colour, symbol, kinds) in _GROUPS.items():
        if point.failure in kinds:
            return name, colour, symbol
    return _OTHER
