"""Throughput against latency, with the front of trials that no other beats in both."""

from __future__ import annotations

import html
from collections.abc import Sequence

from autotune.figures.marks import BLUE, GREEN, Figure, Trace, axis, figure, throughput_unit, unit
from autotune.figures.points import Point


def tradeoff(points: Sequence[Point], latency: str, level: int, *, simulated: bool) -> Figure:
    """Every trial that worked by its latency and its throughput.

    Args:
        latency: A key of ``Point.latency_ms``.
    """
    measured = [point for point in points if point.worked and point.latency_ms.get(latency) is not None]
    front = pareto_front(measured, latency)
    on_front = {point.number for point in front}
    rest = [point for point in measured if point.number not in on_front]
    speed, wait = throughput_unit(level, simulated), unit(f"{latency}, ms", simulated)
    traces = [
        _markers("beaten in both", rest, latency, BLUE, "circle-open", "markers"),
        _markers("Pareto front", front, latency, GREEN, "diamond", "lines+markers"),
    ]
    return figure(
        "Throughput against latency",
        "Up and to the left is better. No trial on the front is beaten in both by another.",
        [trace for trace in traces if trace["x"]],
        {"xaxis": axis(wait), "yaxis": axis(speed)},
        ["trial", wait, speed, "on the front"],
        [
            (
                point.number,
                point.latency_ms[latency],
                point.tok_s,
                "yes" if point.number in on_front else "no",
            )
            for point in sorted(measured, key=lambda point: -(point.tok_s or 0.0))
        ],
    )


def pareto_front(points: Sequence[Point], latency: str) -> list[Point]:
    """Trials that no other trial beats in throughput and latency, quickest answer first."""
    front: list[Point] = []
    for point in sorted(points, key=lambda point: (point.latency_ms[latency] or 0.0, -(point.tok_s or 0.0))):
        if not front or (point.tok_s or 0.0) > (front[-1].tok_s or 0.0):
            front.append(point)
    return front


def _markers(name: str, points: Sequence[Point], latency: str, colour: str, symbol: str, mode: str) -> Trace:
    return {
        "type": "scatter",
        "mode": mode,
        "name": name,
        "x": [point.latency_ms[latency] for point in points],
        "y": [point.tok_s for point in points],
        "text": [html.escape(point.text) for point in points],
        "customdata": [point.number for point in points],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": colour, "symbol": symbol, "size": 9},
        "line": {"color": colour, "width": 1.5, "shape": "hv"},
    }
