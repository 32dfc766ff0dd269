"""A trial's outcome as columns and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trials.outcome import (
    AnyOutcome,
    Completed,
    EnvironmentFailed,
    Failure,
    Interrupted,
    SettingsFailed,
    Stopped,
)

OUTCOME_WORDS: dict[type[AnyOutcome], str] = {
    Completed: "completed",
    Stopped: "stopped",
    SettingsFailed: "settings_failed",
    EnvironmentFailed: "environment_failed",
    Interrupted: "interrupted",
}
_CLASSES = {word: kind for kind, word in OUTCOME_WORDS.items()}


def trial_columns(outcome: AnyOutcome, main_level: int) -> dict[str, Any]:
    """The columns of ``autotune_trials`` that say how a trial ended."""
    columns = {
        "outcome": OUTCOME_WORDS[type(outcome)],
        "result": outcome.model_dump(mode="json"),
        **_main_figures(outcome, main_level),
    }
    failure: Failure | None = getattr(outcome, "failure", None)
    if failure is not None:
        columns |= {
            "failure_kind": str(failure.kind),
            "failure_stage": str(failure.stage),
            "failure_summary": failure.summary,
        }
    return columns


def read_outcome(word: str, result: Mapping[str, Any]) -> AnyOutcome:
    """The outcome that ``trial_columns`` wrote."""
    return _CLASSES[word].model_validate(result)


def _main_figures(outcome: AnyOutcome, main_level: int) -> dict[str, float | None]:
    main = next((m for m in outcome.measurements if m.level == main_level), None)
    if main is None:
        return {"tok_s": None, "tok_s_low": None, "tok_s_high": None}
    low, high = main.decode_tok_s_ci95 or (None, None)
    return {"tok_s": main.decode_tok_s, "tok_s_low": low, "tok_s_high": high}
