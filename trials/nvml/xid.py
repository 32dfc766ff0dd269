"""Xid errors: what the driver reports about cards in trouble."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pynvml

from trials.nvml.optional import optional

APPLICATION_XIDS = frozenset({13, 31, 43, 45, 68, 109})
"""Xid errors that a program's own kernels provoke, or its sudden end.

NVIDIA's Xid catalogue names the user's application as a cause of each, and NVIDIA's device plugin for
Kubernetes keeps a card in service after them. The server's log tells of the illegal access behind them.
"""

_WORDS = {
    # NVIDIA, "XID Errors", the list of Xid messages.
    32: "invalid or corrupted push buffer",
    46: "GPU stopped processing",
    48: "uncorrectable memory error (double-bit ECC)",
    61: "internal micro-controller breakpoint",
    62: "internal micro-controller halt",
    63: "memory row remapped",
    64: "memory row remapping failed",
    69: "graphics engine class error",
    74: "NVLink error",
    79: "GPU has fallen off the bus",
    92: "high rate of corrected memory errors",
    94: "contained memory error",
    95: "uncontained memory error",
    119: "GPU system processor did not answer",
    120: "GPU system processor error",
    140: "unrecovered memory error",
    143: "GPU initialisation failure",
    154: "GPU needs a reset or a restart",
}
_MAX_AT_ONCE = 100


class XidWatch:
    """Collects the Xid errors of some cards from NVML's events; silent where a driver has none."""

    def __init__(self, nvml: Any, handles: Sequence[Any]) -> None:
        self._nvml = nvml
        self._events = optional(nvml.nvmlEventSetCreate)
        for handle in handles if self._events is not None else ():
            self._register(handle)

    def new(self, name: Callable[[Any], str]) -> Iterator[str]:
        """One sentence per error since the last call, without those of applications.

        Args:
            name: Words for the card with this handle.
        """
        for _ in range(_MAX_AT_ONCE if self._events is not None else 0):
            try:
                event = self._nvml.nvmlEventSetWait_v2(self._events, 0)
            except pynvml.NVMLError:
                return
            if event.eventData not in APPLICATION_XIDS:
                yield _sentence(name(event.device), event.eventData)

    def close(self) -> None:
        if self._events is not None:
            optional(lambda: self._nvml.nvmlEventSetFree(self._events))

    def _register(self, handle: Any) -> None:
        kind = self._nvml.nvmlEventTypeXidCriticalError
        optional(lambda: self._nvml.nvmlDeviceRegisterEvents(handle, kind, self._events))


def _sentence(card: str, xid: int) -> str:
    words = _WORDS.get(xid)
    return f"{card} reported Xid {xid} ({words})" if words else f"{card} reported Xid {xid}"
