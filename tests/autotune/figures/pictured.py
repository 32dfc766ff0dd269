"""Trials for pictures, and a look into what was drawn."""

from __future__ import annotations

from typing import Any

from autotune.figures import Figure, Point, Trace


def point(number: int, tok_s: float | None = None, failure: str | None = None, **more: Any) -> Point:
    outcome = "settings_failed" if failure else "completed"
    values: dict[str, Any] = {"role": "search", "outcome": outcome, "ci95": None, "text": "", **more}
    return Point(number=number, tok_s=tok_s, failure=failure, **values)


def trace(figure: Figure, name: str) -> Trace:
    return next(one for one in figure["data"] if one["name"] == name)
