"""Settings that somebody wants tried: whether they can be, decided alike by the page and by the night."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autotune.search import SearchSpace, SpaceError


def refusal(
    settings: Mapping[str, Any],
    tried: Mapping[Any, int],
    space: SearchSpace,
    forbidden: Callable[[Mapping[str, Any]], str | None],
) -> str | None:
    """Why settings cannot be tried, in one sentence; None when they can.

    Args:
        settings: Without conditional ones that do not apply.
        tried: Canonical keys that were asked for before, with the trial's number.
        forbidden: Gives the reason why settings can never run.
    """
    try:
        checked = space.check(settings)
    except SpaceError as error:
        return str(error)
    if missing := space.missing(checked):
        return f"{missing[0]} is missing; name every setting of the space"
    if (key := space.canonical(checked)) in tried:
        return f"trial {tried[key]} has run them already"
    return forbidden(checked)
