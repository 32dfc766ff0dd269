from __future__ import annotations

import pytest

from autotune.dashboard import wording
from autotune.standing import SHOWN_OUTCOMES, shown_outcome


@pytest.mark.parametrize(
    "value, text",
    [
        (None, "–"),
        (0, "0"),
        (312_000, "312,000"),
        (8.254, "8.25"),
        (91.0, "91.0"),
        (447.26, "447.3"),
        (1234.5, "1,234"),
    ],
)
def test_numbers_have_the_digits_that_they_deserve(value: float | None, text: str) -> None:
    assert wording.number(value) == text


@pytest.mark.parametrize(
    "seconds, text",
    [
        (None, "–"),
        (0.04, "0.0 s"),
        (59.4, "59 s"),
        (61, "1 min 01 s"),
        (3599.7, "1 h 00 min"),
        (34_260, "9 h 31 min"),
    ],
)
def test_durations_use_two_units(seconds: float | None, text: str) -> None:
    assert wording.duration(seconds) == text


@pytest.mark.parametrize(
    "seconds, text",
    [(0.0, "less than a minute"), (754.0, "about 13 min"), (6_060, "about 1 h 41 min")],
)
def test_what_is_left_is_an_estimate(seconds: float, text: str) -> None:
    assert wording.about(seconds) == text


@pytest.mark.parametrize(
    "text, told",
    [
        ("run by process 7 on Box2", "Run by process 7 on Box2."),
        ("study.db: gone.", "study.db: gone."),
        ("8 trials at most", "8 trials at most."),
    ],
)
def test_words_become_a_sentence_and_keep_their_names(text: str, told: str) -> None:
    assert wording.sentence(text) == told


def test_a_throughput_is_never_without_its_interval() -> None:
    assert wording.throughput(89.5, (88.6, 90.4)) == "89.5 tok/s (88.6 to 90.4)"
    assert wording.throughput(89.5) == "89.5 tok/s (interval unknown)"


def test_settings_read_as_they_are_written() -> None:
    assert wording.setting(None) == "not set"
    assert wording.setting(0.88) == "0.88"
    assert wording.setting(True) == "True"


def test_a_start_can_be_typed_again() -> None:
    start = {"env": {"A": "two words"}, "argv": ["python", "-m", "server", "--x", "it's"]}
    assert wording.shell(start) == """A='two words' python -m server --x 'it'"'"'s'"""


@pytest.mark.parametrize(
    "outcome, state, shown",
    [
        ("running", "running", "running"),
        ("running", "elsewhere", "running"),
        ("running", "died", "died"),
        ("completed", "died", "completed"),
        (None, "ended", "interrupted"),
    ],
)
def test_nothing_runs_under_a_runner_that_died(outcome: str | None, state: str, shown: str) -> None:
    assert shown_outcome(outcome, state) == shown
    assert shown in SHOWN_OUTCOMES


def test_versions_that_are_unknown_are_left_out_and_model_files_are_no_model() -> None:
    versions = {"sglang": "0.5.9", "driver": None, "model": "f00d", "draft model": None}
    assert wording.known_versions(versions) == {"sglang": "0.5.9", "model files": "f00d"}
