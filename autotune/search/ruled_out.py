"""Boots that the memory pre-flight saved: what looked best and was proven dead, read back from proposals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from autotune.search.space import SearchSpace


def ruled_out(proposals: Iterable[Any], space: SearchSpace) -> list[Mapping[str, Any]]:
    """Settings with the proof against them, each once, in the order in which they were ruled out.

    Args:
        proposals: The attribute ``proposal`` of each trial, whatever a trial has there.
    """
    found: dict[Any, Mapping[str, Any]] = {}
    for proposal in proposals:
        for entry in proposal.get("ruled_out", ()) if isinstance(proposal, Mapping) else ():
            found.setdefault(space.canonical(entry["settings"]), entry)
    return list(found.values())
