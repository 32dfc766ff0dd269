"""Which stage a trial is in, and since when."""

from __future__ import annotations

import time

from trials.outcome import Stage
from trials.recorder import Recorder


class Timeline:
    """Tells the recorder of every stage that begins; never goes back within a boot."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._begun = time.monotonic()
        self.stage = Stage.ARGUMENTS
        recorder.stage(self.stage, 0.0)

    def enter(self, stage: Stage) -> None:
        if stage.order > self.stage.order:
            self._set(stage)

    def restart(self) -> None:
        """A second boot begins."""
        self._set(Stage.ARGUMENTS)

    def _set(self, stage: Stage) -> None:
        self.stage = stage
        self._recorder.stage(stage, time.monotonic() - self._begun)
