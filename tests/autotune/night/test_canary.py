"""Which failures need a canary, and what its answer does to the suspect."""

from __future__ import annotations

import pytest

from autotune.night.canary import Suspect, is_unexpected, needs_canary, sentence
from trials.outcome import Failure, FailureKind, Stage


def _suspect(kind: FailureKind, *, unexpected: bool = False, before: tuple[int, ...] = ()) -> Suspect:
    failure = Failure(kind=kind, stage=Stage.READY, summary="it died", at_fault="settings")
    return Suspect(number=9, failure=failure, unexpected=unexpected, unexpected_before=before)


@pytest.mark.parametrize("kind", ["unknown", "hang", "kernel_fault", "communication"])
def test_suspicious_kinds_need_a_canary(kind: str) -> None:
    assert needs_canary(_suspect(FailureKind(kind)))


@pytest.mark.parametrize("kind", ["oom_kv_pool", "kv_pool_too_small", "invalid_settings", "wrong_output"])
def test_plain_failures_need_none(kind: str) -> None:
    assert not needs_canary(_suspect(FailureKind(kind)))


def test_third_unexpected_failure_in_a_row_needs_one() -> None:
    kind = FailureKind.OOM_RUNTIME
    assert not needs_canary(_suspect(kind, unexpected=True, before=(7,)))
    assert needs_canary(_suspect(kind, unexpected=True, before=(7, 8)))
    assert not needs_canary(_suspect(kind, unexpected=False, before=(7, 8)))


@pytest.mark.parametrize(
    ("p_boots", "has_worked", "expected"),
    [(0.5, False, True), (0.49, False, False), (None, False, False), (None, True, True), (0.1, True, True)],
)
def test_unexpected(p_boots: float | None, has_worked: bool, expected: bool) -> None:
    assert is_unexpected(p_boots, has_worked) is expected


def test_failed_canary_blames_the_machine_and_ends_the_night() -> None:
    verdict = sentence(_suspect(FailureKind.HANG, unexpected=True, before=(7, 8)), "failed")
    assert verdict.failure.kind is FailureKind.HANG
    assert verdict.failure.at_fault == "environment"
    assert verdict.suspects == (7, 8, 9)
    assert verdict.end_night is not None
    assert "trial 9" in verdict.end_night


@pytest.mark.parametrize(
    ("answer", "at_fault"), [("passed", "settings"), ("nothing has worked yet", "environment")]
)
def test_unknown_is_blamed_by_the_canary(answer: str, at_fault: str) -> None:
    verdict = sentence(_suspect(FailureKind.UNKNOWN), answer)  # type: ignore[arg-type]
    assert verdict.failure.at_fault == at_fault
    assert verdict.end_night is None
    assert verdict.suspects == ()


def test_passed_canary_leaves_a_known_kind_as_it_is() -> None:
    suspect = _suspect(FailureKind.HANG)
    assert sentence(suspect, "passed").failure == suspect.failure
