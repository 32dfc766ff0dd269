"""A measurement that was disturbed from outside is made once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from trials.disturbance import Disturbance
from trials.measure_errors import Hopeless
from trials.outcome import Measurement


class Watch(Protocol):
    """``trials.disturbance.DisturbanceWatch``."""

    def begin(self) -> None: ...

    def end(self) -> tuple[Disturbance, ...]: ...


class Repeating:
    """Measures the levels of one boot.

    What still disturbs during a repetition is how the machine is tonight: it is noted from then on, and no
    longer a reason to repeat, so that a hot room does not double the night.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._lasting: set[str] = set()

    def measure(self, measure: Callable[[], Measurement]) -> Measurement:
        """Measure, and once more if that was disturbed.

        Raises:
            Hopeless: If it is too slow, and was not because of a disturbance.
        """
        first, disturbed, hopeless = self._once(measure)
        if not {found.cause for found in disturbed} - self._lasting:
            if hopeless is not None:
                raise hopeless
            return _noted(first, _words(disturbed))
        measured, again, hopeless = self._once(measure)
        self._lasting |= {found.cause for found in again}
        if hopeless is not None:
            raise hopeless
        earlier = f"measured twice: the first time gave {first.decode_tok_s:.1f} tok/s, {_join(disturbed)}"
        return _noted(measured, [earlier, *_words(again)])

    def _once(
        self, measure: Callable[[], Measurement]
    ) -> tuple[Measurement, tuple[Disturbance, ...], Hopeless | None]:
        self._watch.begin()
        hopeless = None
        try:
            measured = measure()
        except Hopeless as ending:
            measured, hopeless = ending.measurement, ending
        return measured, self._watch.end(), hopeless


def _words(disturbed: Sequence[Disturbance]) -> list[str]:
    return [f"disturbed: {_join(disturbed)}"] if disturbed else []


def _join(disturbed: Sequence[Disturbance]) -> str:
    return "; ".join(found.sentence for found in disturbed)


def _noted(measured: Measurement, notes: Sequence[str]) -> Measurement:
    return measured.model_copy(update={"notes": (*measured.notes, *notes)}) if notes else measured
