"""Calls to NVML that a card or a driver may not support."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pynvml

T = TypeVar("T")

UNSUPPORTED = (
    pynvml.NVMLError_NotSupported,
    pynvml.NVMLError_NoPermission,
    pynvml.NVMLError_FunctionNotFound,
    pynvml.NVMLError_NoData,
)
"""Errors that say "never", not "not any more"."""


def optional(call: Callable[[], T]) -> T | None:
    """What the call returns, None when NVML refuses it for whatever reason."""
    try:
        return call()
    except pynvml.NVMLError:
        return None
