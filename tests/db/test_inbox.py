"""Which requests a study's file takes, whoever asks."""

from __future__ import annotations

import pytest

from db import inbox, queries
from db.engine import open_reader
from db.errors import StudyFileError
from tests.db.nights import Night, completed, settings_failed
from trials.outcome import (
    AnyOutcome,
    BootReport,
    Completed,
    EnvironmentFailed,
    Failure,
    FailureKind,
    Interrupted,
    Stage,
    Stopped,
)

_FAILURE = Failure(
    kind=FailureKind.OOM_GRAPH_CAPTURE,
    stage=Stage.GRAPH_CAPTURE,
    summary="a card fell off the bus",
    evidence=(),
    at_fault="environment",
)


@pytest.mark.parametrize(
    "outcome, why",
    [
        (settings_failed(), "failed"),
        (EnvironmentFailed(failure=_FAILURE), "failed with its machine"),
        (Interrupted(), "was interrupted"),
        (Stopped(measurements=completed(80.0).measurements), "was stopped early"),
        (Completed(boot=BootReport(), measurements=()), "has no result"),
    ],
)
def test_a_trial_without_a_result_is_no_baseline(night: Night, outcome: AnyOutcome, why: str) -> None:
    worked = night.play(completed(82.0))
    inbox.pin_baseline(night.path, worked)
    number = night.begin().number
    night.journal.finish_trial(number, outcome, main_level=1)
    with pytest.raises(StudyFileError, match=f"trial {number} {why}; only a trial that worked"):
        inbox.pin_baseline(night.path, number)
    _require_pinned(night, worked)


def test_a_trial_that_runs_is_no_baseline_yet(night: Night) -> None:
    number = night.begin().number
    with pytest.raises(StudyFileError, match=f"trial {number} has no result"):
        inbox.pin_baseline(night.path, number)
    _require_pinned(night, None)


def _require_pinned(night: Night, number: int | None) -> None:
    with open_reader(night.path) as reader, reader.connect() as connection:
        assert queries.pinned_baseline(connection) == number
        assert len(queries.requests(connection)) == (number is not None)
