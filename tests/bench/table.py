"""Races as a table and a plot."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from tests.bench.race import Trace

Key = tuple[str, int]
Results = Mapping[str, Mapping[Key, Trace]]

UNITS = (20, 40, 60, 80)
WITHIN = (0.05, 0.02, 0.01)
_RESAMPLES = 2000
_FEWEST_PAIRS = 4


def table(results: Results) -> str:
    """Markdown: one line a sampler, over all boxes and seeds."""
    head = ["sampler", *(f"regret at {units}" for units in UNITS), "crashes", "late crashes"]
    head += [f"boots to {share:.0%}" for share in WITHIN] + ["ms a proposal"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, traces in results.items():
        lines.append("| " + " | ".join([name, *_cells(list(traces.values()))]) + " |")
    return "\n".join(lines)


def _cells(traces: Sequence[Trace]) -> list[str]:
    cells = [_quartiles([trace.regret_at(units) for trace in traces]) for units in UNITS]
    cells.append(f"{statistics.median(sum(trace.crashed) for trace in traces):.0f}")
    cells.append(f"{statistics.mean(trace.late_crash_share for trace in traces):.0%}")
    for share in WITHIN:
        middle = statistics.median(trace.boots_to(share) for trace in traces)
        reached = statistics.mean(trace.boots_to(share) < float("inf") for trace in traces)
        cells.append(f"{middle:.0f} ({reached:.0%})" if middle < float("inf") else f"never ({reached:.0%})")
    cells.append(f"{1000 * statistics.mean(statistics.mean(trace.ask_s) for trace in traces):.0f}")
    return cells


def _quartiles(regrets: Sequence[float]) -> str:
    low, middle, high = np.quantile(regrets, [0.25, 0.5, 0.75])
    return f"{middle:.1%} ({low:.1%} to {high:.1%})"


def box_table(results: Results, ours: str = "crash-aware", other: str = "tpe", units: float = 60) -> str:
    """Markdown: per box the median regrets, and whether ours is worse beyond a paired bootstrap.

    Empty unless both were raced.
    """
    names = list(results)
    if not {ours, other} <= results.keys():
        return ""
    lines = [
        "| box | " + " | ".join(names) + f" | {ours} less {other}, 95 % |",
        "|---|" + "---|" * (len(names) + 1),
    ]
    rng = np.random.default_rng(0)
    for box in dict.fromkeys(box for box, _ in results[ours]):
        cells = [f"{statistics.median(_of(results[name], box, units)):.1%}" for name in names]
        gaps = np.array(_of(results[ours], box, units)) - np.array(_of(results[other], box, units))
        drawn = gaps[rng.integers(len(gaps), size=(_RESAMPLES, len(gaps)))].mean(axis=1)
        low, high = np.quantile(drawn, [0.025, 0.975])
        cells.append(
            f"{low:+.1%} to {high:+.1%}" + (" worse" if low > 0 and len(gaps) >= _FEWEST_PAIRS else "")
        )
        lines.append(f"| {box} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _of(traces: Mapping[Key, Trace], box: str, units: float) -> list[float]:
    return [trace.regret_at(units) for (name, _), trace in sorted(traces.items()) if name == box]


def plot(results: Results, path: Path, title: str) -> None:
    """Median regret and its quartiles against cost, as a page."""
    figure = go.Figure()
    units = np.arange(1, UNITS[-1] + 1)
    for name, traces in results.items():
        curves = np.array([[trace.regret_at(float(unit)) for unit in units] for trace in traces.values()])
        low, middle, high = np.quantile(curves, [0.25, 0.5, 0.75], axis=0)
        figure.add_scatter(
            x=units,
            y=middle,
            name=name,
            error_y={"array": high - middle, "arrayminus": middle - low, "thickness": 0.4},
        )
    figure.update_layout(title=title, xaxis_title="boot-cost units (a good boot is 1)", yaxis_title="regret")
    figure.update_yaxes(tickformat=".0%", range=[0, 1])
    figure.write_html(path, include_plotlyjs=True)
