"""How a night treats a machine that fails: it waits, longer each time, and in the end goes home."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.trial_view import TrialView

WAITS_S = (60.0, 300.0, 900.0)
"""Pauses after the second, third and fourth failure in a row, s; the fifth ends the night. The first one gets
none: it may have been chance, and the repeat of its settings shows that."""
BOX_WAITS_S = (0.2, 0.5, 1.0)
"""The same for imagined hardware, s."""
_BORNE_WITHOUT_PAUSE = 1


@dataclass(frozen=True)
class Advice:
    """What to do about a sick machine.

    Attributes:
        wait_s: How long to leave it alone, s; None to end the night.
    """

    wait_s: float | None
    sentence: str


def advise(
    ended: Sequence[TrialView], waits_s: Sequence[float], time_s: float | None = None
) -> Advice | None:
    """What this run's trials say about the machine, None while it is well.

    Args:
        ended: Trials of this run only: what failed before somebody mended the machine counts no more.
        time_s: What the clock can spare, s; None for any time.
    """
    row = _row(ended)
    if len(row) <= _BORNE_WITHOUT_PAUSE:
        return None
    failure = row[-1].failure
    reason = failure.summary.rstrip(".") if failure else "no reason was given"
    failed = (
        f"{len(row)} trials in a row failed through no fault of their settings, the last one because {reason}"
    )
    pause = len(row) - _BORNE_WITHOUT_PAUSE - 1
    if pause >= len(waits_s):
        return Advice(None, f"{failed}. Mend that, then start the same study again.")
    wait_s = waits_s[pause]
    if time_s is None or wait_s <= time_s:
        return Advice(wait_s, f"{failed}; the machine is left alone for {_words(wait_s)} before the next one")
    return Advice(
        time_s,
        f"{failed}; the machine is left alone for {_words(time_s)} and not for {_words(wait_s)}, because the "
        "night ends soon",
    )


def _row(ended: Sequence[TrialView]) -> list[TrialView]:
    """The newest trials as far back as the machine failed all of them, oldest first."""
    row: list[TrialView] = []
    for trial in reversed(ended):
        if not trial.state.is_finished() or trial.interrupted:
            continue
        if not trial.environment_failed:
            break
        row.append(trial)
    return row[::-1]


def _words(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.3g} s"
