"""Which deaths are repeated, which are told as failures, and whose fault those are."""

from __future__ import annotations

import pytest

from autotune.night.postmortem import MOST_DEATHS, SUSPICIOUS_DEATHS, Death, Scene, judge_death
from tests.autotune.night.views import failure
from trials.outcome import EnvironmentFailed, FailureKind, Interrupted, SettingsFailed, Stage

_DEATHS: tuple[Death, ...] = ("reboot", "out_of_memory", "error", "killed")


@pytest.mark.parametrize("death", _DEATHS)
def test_the_first_death_is_repeated(death: Death) -> None:
    outcome = judge_death(Scene(death, Stage.LOAD_WEIGHTS, other_settings=(death,), seconds=12.5))
    assert isinstance(outcome, Interrupted)
    assert outcome.seconds == 12.5
    assert "load_weights" in outcome.warnings[0]


@pytest.mark.parametrize(
    ("death", "kind"),
    [
        ("reboot", FailureKind.UNKNOWN),
        ("out_of_memory", FailureKind.OOM_HOST),
        ("error", FailureKind.UNKNOWN),
    ],
)
def test_the_second_suspicious_death_of_the_same_settings_is_theirs(death: Death, kind: FailureKind) -> None:
    outcome = judge_death(Scene(death, Stage.LOAD_WEIGHTS, same_settings=("reboot",)))
    assert isinstance(outcome, SettingsFailed)
    assert outcome.failure.kind is kind
    assert outcome.failure.stage is Stage.LOAD_WEIGHTS


@pytest.mark.parametrize("death", SUSPICIOUS_DEATHS)
def test_a_machine_that_dies_so_under_other_settings_too_is_to_blame_itself(death: Death) -> None:
    outcome = judge_death(
        Scene(death, Stage.KV_POOL, same_settings=(death,), other_settings=("killed", death))
    )
    assert isinstance(outcome, EnvironmentFailed)
    assert outcome.failure.at_fault == "environment"


def test_a_killed_runner_says_nothing_about_the_settings() -> None:
    earlier: tuple[Death, ...] = ("killed",) * (MOST_DEATHS - 2)
    assert isinstance(judge_death(Scene("killed", Stage.MEASURE, same_settings=earlier)), Interrupted)
    assert isinstance(judge_death(Scene("reboot", Stage.MEASURE, same_settings=("killed",))), Interrupted)


def test_even_killed_runners_come_to_an_end() -> None:
    earlier: tuple[Death, ...] = ("killed",) * (MOST_DEATHS - 1)
    outcome = judge_death(Scene("killed", Stage.MEASURE, same_settings=earlier))
    assert isinstance(outcome, SettingsFailed)
    assert f"{MOST_DEATHS} times" in outcome.failure.summary
    elsewhere = judge_death(Scene("killed", Stage.MEASURE, same_settings=earlier, other_settings=("killed",)))
    assert isinstance(elsewhere, EnvironmentFailed)


def test_a_server_that_had_failed_by_itself_is_told_as_that() -> None:
    found = failure(FailureKind.OOM_GRAPH_CAPTURE, "settings")
    outcome = judge_death(Scene("killed", Stage.GRAPH_CAPTURE, log_failure=found))
    assert isinstance(outcome, SettingsFailed)
    assert outcome.failure == found


@pytest.mark.parametrize("kind", [FailureKind.UNKNOWN, FailureKind.COMMUNICATION, FailureKind.ENVIRONMENT])
def test_words_that_a_sick_machine_also_says_are_no_proof(kind: FailureKind) -> None:
    at_fault = "environment" if kind is FailureKind.ENVIRONMENT else "settings"
    outcome = judge_death(Scene("killed", Stage.MEASURE, log_failure=failure(kind, at_fault)))
    assert isinstance(outcome, Interrupted)
