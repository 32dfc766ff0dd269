"""What a trial's cards did: memory in use above, power drawn below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autotune.figures.marks import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    YELLOW,
    Figure,
    Trace,
    axis,
    figure,
    unit,
)

_CARD_COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, GREY)
_DASHES = ("solid", "dash")


@dataclass(frozen=True)
class CardCurve:
    """One card over a trial, a value a moment."""

    memory_gib: Sequence[float]
    power_w: Sequence[float | None]


def gpus(moments: Sequence[float], cards: Mapping[int, CardCurve], *, simulated: bool) -> Figure:
    """Memory and power of each card of a trial.

    Args:
        moments: Seconds since the trial's start.
        cards: By number of the card.
    """
    has_power = any(watt is not None for card in cards.values() for watt in card.power_w)
    traces = [
        trace
        for place, (index, card) in enumerate(cards.items())
        for trace in (
            _line(place, index, moments, card.memory_gib, "GiB", "y"),
            *([_line(place, index, moments, card.power_w, "W", "y2")] if has_power else []),
        )
    ]
    layout = {
        "xaxis": axis(
            unit("seconds since the trial's start", simulated),
            rangemode="tozero",
            anchor="y2" if has_power else "y",
        ),
        "yaxis": axis("memory, GiB", rangemode="tozero", domain=[0.48 if has_power else 0, 1]),
    }
    if has_power:
        layout["yaxis2"] = axis("power, W", rangemode="tozero", domain=[0, 0.42])
    return figure(
        "GPU memory and power",
        "Memory in use on each card over the trial" + (", and the power that it drew." if has_power else "."),
        traces,
        layout,
        ["card", unit("most in use, GiB", simulated), unit("most power, W", simulated)],
        [
            (
                f"GPU {index}",
                max(card.memory_gib, default=None),
                max((watt for watt in card.power_w if watt is not None), default=None),
            )
            for index, card in cards.items()
        ],
    )


def _line(
    place: int, index: int, moments: Sequence[float], values: Sequence[float | None], of: str, axis_name: str
) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines" if len(moments) > 1 else "markers",
        "name": f"GPU {index}",
        "legendgroup": f"GPU {index}",
        "showlegend": axis_name == "y",
        "x": list(moments),
        "y": list(values),
        "yaxis": axis_name,
        "hovertemplate": f"GPU {index}: %{{y}} {of}<extra></extra>",
        "line": {
            "width": 1.5,
            "color": _CARD_COLOURS[place % len(_CARD_COLOURS)],
            "dash": _DASHES[place // len(_CARD_COLOURS) % len(_DASHES)],
        },
    }
