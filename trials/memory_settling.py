"""GPU memory after a stop whose level before the boot is not known."""

from __future__ import annotations

import time

from trials.gpus import GpuProbe, GpuProbeError
from trials.left_behind import memory_levels, unreadable
from trials.stopping import StopPolicy


def wait_while_falling(probe: GpuProbe, policy: StopPolicy) -> str:
    """Wait until no card has given memory back for ``settle_s``, at most ``release_s``.

    A driver takes seconds to free a dead process's memory, and a boot that begins meanwhile would take what
    is left of it for the idle level.

    Returns:
        A sentence when the cards cannot be read, else nothing.
    """
    begun = last_fall = time.monotonic()
    try:
        lowest = memory_levels(probe)
        while lowest and time.monotonic() < min(last_fall + policy.settle_s, begun + policy.release_s):
            time.sleep(policy.poll_s)
            levels = memory_levels(probe)
            if any(levels[index] < level for index, level in lowest.items()):
                last_fall, lowest = time.monotonic(), levels
    except GpuProbeError as error:
        return unreadable(error)
    return ""
