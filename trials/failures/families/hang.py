"""The server stopped moving."""

from __future__ import annotations

from typing import Final

from trials.failures.family import Family
from trials.outcome import FailureKind

HANG: Final[tuple[Family, ...]] = (
    Family(
        name="SGLang's watchdog",
        kind=FailureKind.HANG,
        signs=(r"[Ww]atchdog timeout \(self\.watchdog_timeout=(?P<seconds>[\d.]+)",),
        says="`Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)`",
        summary="A scheduler made no step for {seconds} s and SGLang's own watchdog ended it.",
        means="A forward pass never came back: a deadlocked collective, or a kernel that spins.",
    ),
    Family(
        name="unhealthy when stopped",
        kind=FailureKind.HANG,
        signs=(r"Signal SIGTERM received while health check failed",),
        says="`Signal SIGTERM received while health check failed. Force exiting.`",
        summary="The server no longer answered its own health check when it was stopped.",
        means="A scheduler was stuck or stopped; HTTP still answered.",
    ),
    Family(
        name="health check without answer",
        kind=FailureKind.HANG,
        signs=(r"Health check failed\. Server couldn't get a response from detokenizer",),
        says="`Health check failed. Server couldn't get a response from detokenizer for last 20 seconds.`",
        summary="The schedulers stopped answering the server's health check.",
        means="Under load it can pass; at the end of a log it means that nothing moved any more.",
        consequence=True,
    ),
)
