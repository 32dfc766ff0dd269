"""What to try next: the search space and the crash-aware sampler. Plain data in, plain data out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from autotune.search.parameters import Parameter, Settings, SpaceError, Value
from autotune.search.space import SearchSpace

if TYPE_CHECKING:
    from autotune.search.proposals import SpaceUsedUpError
    from autotune.search.sampler import CrashAwareSampler

__all__ = [
    "CrashAwareSampler",
    "Parameter",
    "SearchSpace",
    "Settings",
    "SpaceError",
    "SpaceUsedUpError",
    "Value",
]

_WHEN_ASKED_FOR = {
    "CrashAwareSampler": "autotune.search.sampler",
    "SpaceUsedUpError": "autotune.search.proposals",
}
"""The models need scipy, half a second of import that commands which only read a space can do without."""


def __getattr__(name: str) -> Any:
    if name not in _WHEN_ASKED_FOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHEN_ASKED_FOR[name]), name)
