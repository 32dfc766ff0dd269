"""A trial as pictures see it, and settings as places on an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

SettingValue: TypeAlias = bool | int | float | str


@dataclass(frozen=True)
class Point:
    """One trial.

    Attributes:
        outcome: As ``db.outcomes`` words it, or "running".
        tok_s: tok/s at the level of the picture, None where none was measured.
        ci95: Its 95 % interval, tok/s.
        failure: Kind of the failure, None without one.
        text: What a reader sees when pointing at it; plain text.
        settings: What ran; conditional settings only where they count.
        latency_ms: Percentiles by name such as "ttft p95", ms; None where unknown.
    """

    number: int
    role: str
    outcome: str
    tok_s: float | None
    ci95: tuple[float, float] | None
    failure: str | None
    text: str
    settings: Mapping[str, SettingValue] = field(default_factory=dict)
    latency_ms: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def worked(self) -> bool:
        return self.outcome == "completed" and self.tok_s is not None


@dataclass(frozen=True)
class SettingAxis:
    """The values of one setting as equally spaced places, in their order.

    Attributes:
        values: Every value that has a place, lowest or first one first.
    """

    name: str
    values: tuple[SettingValue, ...]

    @classmethod
    def of(cls, name: str, offered: Sequence[SettingValue], seen: Sequence[SettingValue]) -> SettingAxis:
        """Values of the space and those that ran besides; numbers sorted, names in the space's order."""
        values = list(dict.fromkeys([*offered, *seen]))
        if all(isinstance(value, int | float) for value in values):
            values.sort(key=float)
        return cls(name, tuple(values))

    def place(self, value: SettingValue) -> int:
        return self.values.index(value)

    def layout(self, most_ticks: int = 12, **more: Any) -> dict[str, Any]:
        """A Plotly axis with a tick for each value, or for every few when there are many."""
        step = -(-len(self.values) // most_ticks)
        places = range(0, len(self.values), step)
        return {
            "title": {"text": self.name},
            "zeroline": False,
            "tickvals": list(places),
            "ticktext": [label(self.values[place]) for place in places],
            "range": [-0.5, len(self.values) - 0.5],
            **more,
        }


def label(value: SettingValue | None) -> str:
    if value is None:
        return "not set"
    return f"{value:g}" if isinstance(value, float) else str(value)


def jitter(number: int, width: float) -> float:
    """A shift between minus and plus half of ``width``, the same for a trial every time it is drawn."""
    golden = 0.6180339887498949
    return ((number * golden) % 1.0 - 0.5) * width
