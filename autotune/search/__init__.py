"""What to try next: the search space and the crash-aware sampler. Plain data in, plain data out."""

from __future__ import annotations

from autotune.search.parameters import Parameter, Settings, SpaceError, Value
from autotune.search.proposals import SpaceUsedUpError
from autotune.search.sampler import CrashAwareSampler
from autotune.search.space import SearchSpace

__all__ = [
    "CrashAwareSampler",
    "Parameter",
    "SearchSpace",
    "Settings",
    "SpaceError",
    "SpaceUsedUpError",
    "Value",
]
