"""When the machine itself has failed too often in a row for the night to go on."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.trial_view import TrialView

MOST_IN_A_ROW = 3


def sick(history: Sequence[TrialView]) -> str | None:
    """Why the night must end, None while the machine is well enough."""
    ended = [trial for trial in history if trial.state.is_finished() and not trial.interrupted]
    last = ended[-MOST_IN_A_ROW:]
    if len(last) < MOST_IN_A_ROW or not all(trial.environment_failed for trial in last):
        return None
    failure = last[-1].failure
    reason = failure.summary if failure else "no reason was given"
    return (
        f"{MOST_IN_A_ROW} trials in a row failed through no fault of their settings, the last one because "
        f"{reason}. Mend that, then start the same study again."
    )
