"""What all pictures share: colours, symbols, axes, the table beside a picture.

Only SVG trace types, so that a picture prints and needs no WebGL. Colours of text, grid and background are
the page's (light or dark); colours of data are those of Okabe and Ito or close to them, which the
colour-blind can tell apart, and what matters has a symbol or a place of its own as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from trials.counted import counted

Figure: TypeAlias = dict[str, Any]
"""``{"data", "layout"}`` for Plotly, ``"title"`` and ``"says"`` (one sentence on what it shows) for readers,
and ``"table"``: ``{"columns", "rows"}`` with the same numbers."""
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

LEGEND: Mapping[str, Any] = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}


def figure(
    title: str,
    says: str,
    data: Sequence[Trace],
    layout: Mapping[str, Any],
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
) -> Figure:
    """A picture with its table."""
    return {
        "title": title,
        "says": says,
        "data": list(data),
        "layout": {"hovermode": "closest", "legend": dict(LEGEND), **layout},
        "table": {"columns": list(columns), "rows": [list(row) for row in rows]},
    }


def nothing_yet(title: str, says: str) -> Figure:
    """A picture that has nothing to show so far."""
    return figure(title, says, [], {}, [], [])


def axis(title: str, **more: Any) -> dict[str, Any]:
    return {"title": {"text": title}, "zeroline": False, **more}


def unit(name: str, simulated: bool) -> str:
    """A unit that never hides that its number was imagined."""
    return f"{name} (simulated)" if simulated else name


def throughput_unit(level: int, simulated: bool) -> str:
    return unit(f"tok/s, {counted(level, 'stream')}", simulated)
