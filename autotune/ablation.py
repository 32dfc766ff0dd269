"""Boots of the winner with one setting taken back, outside the study's budget and beside its trials."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autotune.explain import Worth
from autotune.left_out import LeftOut, keep_left_out, read_left_out
from autotune.night.lock import RunnerLock
from autotune.rerun import Say, boot_once
from autotune.study_view import StudyView, read_study
from db.engine import open_reader
from trials.outcome import EnvironmentFailed, Interrupted
from trials.secrets import HIDDEN

_FOLDER = "explain"


def boot_without(path: Path, worths: Sequence[Worth], say: Say) -> None:
    """Boot each and write down at once what came of it; Ctrl-C ends the rest.

    They are no trials: the sampler did not ask for them, the night's budget did not pay for them, and the
    verdict must not change because somebody was curious.

    Args:
        path: The study's file. Its runner's lock is held meanwhile, so that no night disturbs them.

    Raises:
        StudyIsRunningError: If somebody runs the study.
    """
    study = _read(path)
    folder = path.parent
    env = {name: value for name, value in study.server.env.items() if value != HIDDEN}
    server = study.server.model_copy(update={"env": env})
    with RunnerLock(folder):
        for worth in worths:
            say(f"\nwithout {worth.setting} = {worth.winner}")
            done = read_left_out(folder)
            place = folder / _FOLDER / f"{len(done):03d}-{worth.setting}"
            outcome = boot_once(worth.without, server, study.bench, place, say)
            if isinstance(outcome, Interrupted):
                return
            if isinstance(outcome, EnvironmentFailed):
                say(f"not counted, the machine is at fault: {outcome.failure.summary}")
                continue
            keep_left_out(folder, [*done, LeftOut.of(worth.without, outcome)])


def _read(path: Path) -> StudyView:
    with open_reader(path) as reader, reader.connect() as connection:
        return read_study(connection)
