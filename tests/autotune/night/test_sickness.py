"""A machine that fails again and again is left alone for longer each time, then for good."""

from __future__ import annotations

import pytest

from autotune.night.sickness import advise
from autotune.trial_view import TrialView
from tests.autotune.night.views import interrupted, machine_failed, running, settings_failed, worked

_WAITS = (60.0, 300.0)


@pytest.mark.parametrize(
    ("trials", "waits"),
    [
        ([], None),
        ([worked(0)], None),
        ([machine_failed(0)], None),
        ([machine_failed(0), machine_failed(1)], 60.0),
        ([machine_failed(0), machine_failed(1), machine_failed(2)], 300.0),
        ([machine_failed(0), machine_failed(1), worked(2)], None),
        ([machine_failed(0), machine_failed(1), worked(2), machine_failed(3)], None),
        ([machine_failed(0), settings_failed(1), machine_failed(2)], None),
        ([machine_failed(0), interrupted(1), machine_failed(2), running(3)], 60.0),
    ],
)
def test_pause_after_failures_in_a_row(trials: list[TrialView], waits: float | None) -> None:
    advice = advise(trials, _WAITS)
    assert (advice.wait_s if advice else None) == waits
    assert (advice is None) == (waits is None)


def test_end_when_the_pauses_are_used_up() -> None:
    advice = advise([machine_failed(number) for number in range(4)], _WAITS)
    assert advice is not None
    assert advice.wait_s is None
    assert advice.sentence == (
        "4 trials in a row failed through no fault of their settings, the last one because no disk. "
        "Mend that, then start the same study again."
    )


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "0.2 s"), (60.0, "1 min"), (900.0, "15 min")])
def test_the_sentence_says_how_long(seconds: float, words: str) -> None:
    advice = advise([machine_failed(0), machine_failed(1)], [seconds])
    assert advice is not None
    assert f"left alone for {words} before" in advice.sentence


def test_a_pause_is_no_longer_than_the_clock_can_spare() -> None:
    sick = [machine_failed(number) for number in range(3)]
    whole = advise(sick, _WAITS, 300.0)
    cut = advise(sick, _WAITS, 130.0)
    assert whole is not None
    assert cut is not None
    assert (whole.wait_s, cut.wait_s) == (300.0, 130.0)
    assert "for 2 min and not for 5 min, because the night ends soon" in cut.sentence
