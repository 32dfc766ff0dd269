"""Where the hours went: the timeline of a night by stage, and how long each stage of a boot takes."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from autotune.figures.marks import BLUE, GREY, ORANGE, SKY, Figure, Trace, axis, figure

_HOUR = 3600.0
_NARROWEST = 1 / 500
"""A stroke is drawn at least so wide, as a share of the night: about a pixel, else it would not be seen."""
_ENDINGS = {
    "completed": ("worked", BLUE),
    "stopped": ("stopped early", SKY),
    "failed": ("failed", ORANGE),
    "other": ("running or interrupted", GREY),
}


@dataclass(frozen=True)
class Stay:
    """How long a trial was at a stage.

    Attributes:
        ending: How the trial ended: "completed", "stopped", "failed" or "other".
        start: Seconds since the night's first trial began.
        seconds: How long it stayed.
    """

    trial: int
    stage: str
    ending: str
    start: float
    seconds: float


def timeline(stays: Sequence[Stay], stages: Sequence[str]) -> Figure:
    """A lane for each stage, a stroke for each trial that was there."""
    seen = [stage for stage in stages if any(stay.stage == stage for stay in stays)]
    total = sum(stay.seconds for stay in stays) or 1.0
    spent = {stage: sum(stay.seconds for stay in stays if stay.stage == stage) for stage in seen}
    scale, word = _scale(max((stay.start + stay.seconds for stay in stays), default=0.0))
    lanes = {stage: len(seen) - 1 - place for place, stage in enumerate(seen)}
    names = [f"{stage.replace('_', ' ')} {spent[stage] / total:.0%}" for stage in seen]
    return figure(
        "Where the night went",
        "A lane for each stage with its share of all the time; every stroke is a trial that was there.",
        [trace for ending in _ENDINGS if (trace := _strokes(ending, stays, lanes, scale))["x"]],
        {
            "xaxis": axis(f"{word} since the first trial"),
            "yaxis": {
                "tickvals": [lanes[stage] for stage in seen],
                "ticktext": names,
                "range": [-0.6, len(seen) - 0.4],
                "zeroline": False,
            },
        },
        ["stage", "time, min", "share", "trials"],
        [
            (
                stage,
                round(spent[stage] / 60, 1),
                f"{spent[stage] / total:.0%}",
                len({stay.trial for stay in stays if stay.stage == stage}),
            )
            for stage in seen
        ],
    )


def boot_times(seconds: Mapping[str, Sequence[float]]) -> Figure:
    """How long each stage of a boot takes.

    Args:
        seconds: Per stage, in order, one number a boot, s.
    """
    stages = [stage for stage, times in seconds.items() if times]
    return figure(
        "Boot time by stage",
        "How long the stages of a boot took over all trials that got past them: median, middle half and"
        " outliers.",
        [
            {
                "type": "box",
                "name": stage.replace("_", " "),
                "x": [round(time, 2) for time in seconds[stage]],
                "orientation": "h",
                "marker": {"color": BLUE, "size": 4},
                "line": {"width": 1.5},
                "showlegend": False,
                "hoverinfo": "x",
            }
            for stage in reversed(stages)
        ],
        {"xaxis": axis("seconds a boot", rangemode="tozero"), "yaxis": {"automargin": True}},
        ["stage", "boots", "median, s", "longest, s"],
        [
            (stage, len(seconds[stage]), round(median(seconds[stage]), 1), round(max(seconds[stage]), 1))
            for stage in stages
        ],
    )


def _strokes(ending: str, stays: Sequence[Stay], lanes: Mapping[str, int], scale: float) -> Trace:
    xs: list[float | None] = []
    ys: list[float | None] = []
    texts: list[str | None] = []
    shortest = _NARROWEST * max((stay.start + stay.seconds for stay in stays), default=0.0)
    for stay in stays:
        if stay.ending != ending or stay.stage not in lanes:
            continue
        text = html.escape(f"trial {stay.trial}: {stay.stage.replace('_', ' ')}, {stay.seconds:.1f} s")
        end = stay.start + max(stay.seconds, shortest)
        xs += [round(stay.start / scale, 4), round(end / scale, 4), None]
        ys += [lanes[stay.stage], lanes[stay.stage], None]
        texts += [text, text, None]
    name, colour = _ENDINGS[ending]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": xs,
        "y": ys,
        "text": texts,
        "hovertemplate": "%{text}<extra></extra>",
        "line": {"color": colour, "width": 12, "simplify": False},
    }


def _scale(seconds: float) -> tuple[float, str]:
    return (_HOUR, "hours") if seconds > 2 * _HOUR else (60.0, "minutes")
