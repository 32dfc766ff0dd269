"""Parallel coordinates: every trial a line across all settings, coloured by its throughput."""

from __future__ import annotations

import html
import itertools
from collections.abc import Sequence
from typing import Any

from autotune.figures.marks import BLUE, GREY, ORANGE, RED, SKY, Figure, Trace, figure, throughput_unit
from autotune.figures.points import Point, SettingAxis, jitter, label

_SPEEDS = (GREY, SKY, BLUE, ORANGE, RED)
"""Slowest to fastest. The faster, the thicker as well: the order survives colour blindness and print."""
_WIDEST_SPREAD = 0.5
_LONGEST_LABEL = 18
_FAILED = "failed"
_AT_FULL_WIDTH, _THINNEST = 60, 0.3
"""With more trials than this lines get thinner, down to that share of their width."""


def parallel(points: Sequence[Point], axes: Sequence[SettingAxis], level: int, *, simulated: bool) -> Figure:
    """Every trial a line across the settings, the fastest drawn last; crashes dotted."""
    worked = sorted((point for point in points if point.worked), key=lambda point: point.tok_s or 0.0)
    failed = [point for point in points if point.failure is not None]
    groups = _fifths(worked)
    thin = max(_THINNEST, min(1.0, (_AT_FULL_WIDTH / max(1, len(worked))) ** 0.5))
    data = [_lines(_FAILED, GREY, thin, failed, axes)]
    for place, group in enumerate(groups):
        speeds = [point.tok_s or 0.0 for point in group]
        name = f"{min(speeds):.0f} to {max(speeds):.0f}"
        rank = len(_SPEEDS) - len(groups) + place
        data.append(_lines(name, _SPEEDS[rank], (1.2 + 0.35 * rank) * thin, group, axes))
    return figure(
        "All settings at once",
        "Every trial is a line across the settings; the thicker, the faster. Dotted lines failed. A setting"
        " that did not apply is skipped.",
        [trace for trace in data if trace["x"]],
        {
            "xaxis": {
                "tickvals": list(range(len(axes))),
                "ticktext": [html.escape(one.name).replace("_", "<br>") for one in axes],
                "ticklabeloverflow": "allow",
                "range": [-0.3, len(axes) - 0.5],
                "zeroline": False,
            },
            "yaxis": {"visible": False, "range": [-0.06, 1.06]},
            "annotations": [mark for place, one in enumerate(axes) for mark in _marks(place, one)],
            "legend": {
                "title": {"text": throughput_unit(level, simulated), "side": "top", "font": {"size": 13}},
                "orientation": "h",
                "y": 1.04,
                "yanchor": "bottom",
                "x": 0,
            },
        },
        ["trial", throughput_unit(level, simulated), *(one.name for one in axes)],
        [
            (point.number, point.tok_s, *(point.settings.get(one.name) for one in axes))
            for point in [*reversed(worked), *failed]
        ],
    )


def _fifths(worked: Sequence[Point]) -> list[Sequence[Point]]:
    count = min(len(_SPEEDS), len(worked))
    edges = [round(place * len(worked) / count) for place in range(count + 1)] if count else [0]
    return [worked[low:high] for low, high in itertools.pairwise(edges)]


def _lines(
    name: str, colour: str, width: float, points: Sequence[Point], axes: Sequence[SettingAxis]
) -> Trace:
    xs: list[int | None] = []
    ys: list[float | None] = []
    texts: list[str | None] = []
    for point in points:
        for place, one in enumerate(axes):
            if one.name in point.settings:
                xs.append(place)
                ys.append(round(_height(one, point), 4))
                texts.append(html.escape(point.text))
        xs.append(None)
        ys.append(None)
        texts.append(None)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": xs,
        "y": ys,
        "text": texts,
        "hovertemplate": "%{text}<extra></extra>",
        "line": {"color": colour, "width": width, "dash": "dot" if name == _FAILED else "solid"},
        "opacity": 0.85,
    }


def _height(one: SettingAxis, point: Point) -> float:
    """Where a value lies on its axis, trials of the same value side by side."""
    spread = _WIDEST_SPREAD / max(len(one.values), 2)
    place = one.place(point.settings[one.name]) / max(len(one.values) - 1, 1)
    return min(1.0, max(0.0, place + jitter(point.number, spread * 0.3)))


def _marks(place: int, one: SettingAxis) -> list[dict[str, Any]]:
    step = -(-len(one.values) // 6)
    last = max(len(one.values) - 1, 1)
    return [
        {
            "x": place,
            "y": at / last,
            "text": html.escape(_short(label(one.values[at]))),
            "showarrow": False,
            "xanchor": "left",
            "xshift": 4,
            "font": {"size": 11},
        }
        for at in range(0, len(one.values), step)
    ]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"
