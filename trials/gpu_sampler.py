"""Watches the GPUs during a trial, once a second, from a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from trials.gpus import GpuProbe, GpuSample

_log = logging.getLogger(__name__)


class GpuSampler:
    """Samples every card while the ``with`` block runs. Never raises into it.

    Attributes:
        faults: Xid errors and lost cards so far, one sentence each.
    """

    def __init__(
        self, probe: GpuProbe, on_sample: Callable[[Sequence[GpuSample]], None], *, every_s: float = 1.0
    ) -> None:
        self.faults: tuple[str, ...] = ()
        self._probe = probe
        self._on_sample = on_sample
        self._every_s = every_s
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="gpu-sampler", daemon=True)

    def __enter__(self) -> Self:
        if self._probe.cards():
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _watch(self) -> None:
        ending = False
        while not ending:
            # The last look comes after the end: a card that was lost with the server is seen by it alone.
            ending = self._end.is_set()
            self._look()
            self._end.wait(0 if ending else self._every_s)

    def _look(self) -> None:
        samples: Sequence[GpuSample] = ()
        try:
            samples = self._probe.sample()
            found = self._probe.faults()
        # A driver in trouble raises whatever it likes, and the trial must live on to be stopped properly.
        except Exception as error:
            found = self._probe.faults() or (() if self.faults else (str(error),))
        self.faults = tuple(dict.fromkeys((*self.faults, *found)))
        if samples:
            self._tell(samples)

    def _tell(self, samples: Sequence[GpuSample]) -> None:
        try:
            self._on_sample(samples)
        except Exception:
            _log.exception("GPU samples were lost")
