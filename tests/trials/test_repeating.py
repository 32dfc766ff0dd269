"""A disturbed measurement is made once more, and not for ever."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from trials.disturbance import Disturbance
from trials.measure_errors import Hopeless
from trials.outcome import Measurement
from trials.repeating import Repeating

HOT = Disturbance("throttle 3", "GPU 3 was throttled")
STRANGER = Disturbance("pid 7", "pid 7 held memory on GPU 2")


class Watch:
    """Finds in each measurement what the script says."""

    def __init__(self, *script: tuple[Disturbance, ...]) -> None:
        self._script = iter(script)

    def begin(self) -> None: ...

    def end(self) -> tuple[Disturbance, ...]:
        return next(self._script)


def measuring(*tok_s: float, hopeless: int = 0) -> Callable[[], Measurement]:
    """A level whose measurements give these throughputs; the first ``hopeless`` of them are given up."""
    values = iter(tok_s)
    calls = iter(range(len(tok_s)))

    def measure() -> Measurement:
        measurement = Measurement(
            level=8,
            running=8,
            decode_tok_s=next(values),
            requests=8,
            output_tokens=99,
            seconds=1.0,
            stopped_by="precision",
        )
        if next(calls) < hopeless:
            raise Hopeless(measurement)
        return measurement

    return measure


def test_a_calm_measurement_is_made_once() -> None:
    measurement = Repeating(Watch(())).measure(measuring(100.0))
    assert (measurement.decode_tok_s, measurement.notes) == (100.0, ())


def test_a_disturbed_one_is_made_again_and_the_second_counts() -> None:
    measurement = Repeating(Watch((HOT,), ())).measure(measuring(80.0, 100.0))
    assert measurement.decode_tok_s == 100.0
    assert measurement.notes == ("measured twice: the first time gave 80.0 tok/s, GPU 3 was throttled",)


def test_what_outlasts_its_repetition_is_noted_and_repeats_no_other_level() -> None:
    repeating = Repeating(Watch((HOT,), (HOT,), (HOT,), (HOT, STRANGER), ()))
    assert repeating.measure(measuring(80.0, 81.0)).notes[-1] == "disturbed: GPU 3 was throttled"
    once = repeating.measure(measuring(82.0))
    assert (once.decode_tok_s, once.notes) == (82.0, ("disturbed: GPU 3 was throttled",))
    assert repeating.measure(measuring(60.0, 83.0)).decode_tok_s == 83.0


def test_what_seems_hopeless_under_a_disturbance_gets_its_second_chance() -> None:
    assert Repeating(Watch((HOT,), ())).measure(measuring(40.0, 100.0, hopeless=1)).decode_tok_s == 100.0
    with pytest.raises(Hopeless):
        Repeating(Watch((HOT,), ())).measure(measuring(40.0, 40.0, hopeless=2))
    with pytest.raises(Hopeless):
        Repeating(Watch(())).measure(measuring(40.0, hopeless=1))
