"""How one trial lives: build the command, boot, measure, check, stop, say what went wrong.

``run_trial`` is the only door.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trials.worker import run_trial

__all__ = ["run_trial"]


def __getattr__(name: str) -> Any:
    # The simulated box starts as ``python -m trials.box`` and must boot in a blink: it may not pay for a
    # worker that it never uses.
    if name != "run_trial":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from trials.worker import run_trial

    return run_trial
