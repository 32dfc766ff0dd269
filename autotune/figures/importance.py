"""Which settings matter: for speed, and for whether the server boots at all."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from autotune.figures.marks import BLUE, ORANGE, Figure, Trace, axis, figure
from autotune.figures.points import Point, SettingAxis

_MOST_GROUPS = 6
"""A range with more values than this is cut into as many parts of equal counts."""


def importance(points: Sequence[Point], axes: Sequence[SettingAxis]) -> Figure:
    """Share of the variance that each setting explains on its own (omega squared, never below 0).

    Omega squared is eta squared without the share that as many groups would explain by chance (Hays 1963).
    Of speed it is asked among the trials that worked, in logarithms; of booting among all that ended.
    """
    worked = [point for point in points if point.worked and point.tok_s]
    ended = [point for point in points if point.worked or point.failure is not None]
    rows = [
        (
            one.name,
            _explained(one, worked, [math.log(point.tok_s or 1.0) for point in worked]),
            _explained(one, ended, [float(point.worked) for point in ended]),
        )
        for one in axes
    ]
    rows.sort(key=lambda row: (row[1] or 0.0) + (row[2] or 0.0))
    return figure(
        "What matters",
        "How much of the differences each setting explains on its own: in speed among the trials that worked,"
        " and in whether the server came up. Settings that were always changed together share their credit.",
        [_bars("speed", BLUE, "", rows, 1), _bars("booting", ORANGE, "/", rows, 2)],
        {
            "barmode": "group",
            "xaxis": axis("variance explained", range=[0, 1.04], tickformat=".0%"),
            "yaxis": {"automargin": True},
        },
        ["setting", "explains of speed", "explains of booting"],
        [(name, _percent(speed), _percent(boots)) for name, speed, boots in reversed(rows)],
    )


def _explained(one: SettingAxis, points: Sequence[Point], values: Sequence[float]) -> float | None:
    pairs = [
        (one.place(point.settings[one.name]), value)
        for point, value in zip(points, values, strict=True)
        if one.name in point.settings
    ]
    if len(pairs) < 4:
        return None
    places = np.array([place for place, _ in pairs], dtype=float)
    numbers = np.array([value for _, value in pairs])
    groups = _groups(places)
    total = float(np.sum((numbers - numbers.mean()) ** 2))
    freedom = len(numbers) - len(groups)
    if total <= 0 or len(groups) < 2 or freedom < 1:
        return 0.0
    within = sum(float(np.sum((numbers[group] - numbers[group].mean()) ** 2)) for group in groups)
    by_chance = (len(groups) - 1) * within / freedom
    return max(0.0, (total - within - by_chance) / (total + within / freedom))


def _groups(places: np.ndarray) -> list[np.ndarray]:
    distinct = np.unique(places)
    if len(distinct) > _MOST_GROUPS:
        edges = np.unique(np.quantile(places, np.linspace(0, 1, _MOST_GROUPS + 1))[1:-1])
        places = np.searchsorted(edges, places, side="right")
        distinct = np.unique(places)
    return [places == one for one in distinct]


def _bars(
    name: str, colour: str, pattern: str, rows: Sequence[tuple[str, float | None, float | None]], at: int
) -> Trace:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": [row[0] for row in rows],
        "x": [row[at] for row in rows],
        "marker": {"color": colour, "pattern": {"shape": pattern}},
        "hovertemplate": f"%{{y}} explains %{{x:.0%}} of {name}<extra></extra>",
    }


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.0%}"
