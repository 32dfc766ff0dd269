"""After a death: what the last runner left is stopped, told, or marked for repetition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autotune.night.archive import compress_logs
from autotune.night.death_scene import death_scene, last_sign
from autotune.night.postmortem import SUSPICIOUS_DEATHS, Death, judge_death
from autotune.night.study_book import StudyBook, trial_folder
from db import queries
from db.journal import Journal, NewTrial
from trials.container import remove_marked
from trials.gpus import GpuProbe
from trials.marks import left_processes, stop_marked
from trials.outcome import EnvironmentFailed, Interrupted, SettingsFailed
from trials.stopping import StopPolicy

_WHEN: Mapping[Death, str] = {
    "reboot": " when the machine went down",
    "out_of_memory": " when the host's memory ran out",
    "error": " by an error of autotune",
    "killed": "",
}


@dataclass(frozen=True)
class Recovered:
    """What was found.

    Attributes:
        told: Trials that had ended and were only told now.
        drawn: Trials that died while their settings were still being chosen.
        repeated: Trials that died with their runner; their settings will be asked again.
        given_up: Trials that died with their runner and are not repeated, each with the reason.
        servers: Processes of dead servers that were stopped.
        left_behind: What could not be stopped, empty when the machine is clean.
    """

    told: tuple[int, ...] = ()
    drawn: tuple[int, ...] = ()
    repeated: tuple[tuple[int, Death], ...] = ()
    given_up: tuple[tuple[int, str], ...] = ()
    servers: int = 0
    left_behind: str = ""

    @property
    def sentences(self) -> list[str]:
        found = []
        if self.servers:
            found.append(f"stopped {self.servers} processes of servers that the last runner left")
        if self.told:
            found.append(f"finished the books of trial {_list(self.told)}, which had ended")
        if self.drawn:
            found.append(f"trial {_list(self.drawn)} died before its settings were chosen; nothing is lost")
        for number, death in self.repeated:
            times = "once more" if death in SUSPICIOUS_DEATHS else "again"
            found.append(f"trial {number} died with the last runner{_WHEN[death]} and will be run {times}")
        for number, reason in self.given_up:
            found.append(f"trial {number} died with the last runner and is not run again: {reason}")
        return found


class Recovery:
    """Brings a study back to order; whoever runs it holds the runner lock, so nobody else runs the study.

    Args:
        is_whole: True for settings that lack nothing; a trial that died while it was drawn has not all.
    """

    def __init__(
        self,
        book: StudyBook,
        journal: Journal,
        folder: Path,
        study_uuid: str,
        is_whole: Callable[[Mapping[str, Any]], bool],
    ) -> None:
        self._book = book
        self._journal = journal
        self._folder = folder
        self._uuid = study_uuid
        self._is_whole = is_whole
        self._drawn: list[int] = []
        self._repeated: list[tuple[int, Death]] = []
        self._given_up: list[tuple[int, str]] = []

    def run(self, probe: GpuProbe, policy: StopPolicy) -> Recovered:
        """Tell what died, then stop what it left: a server's own words are read before it is stopped."""
        with self._journal.engine.connect() as connection:
            ended = queries.untold_outcomes(connection)
        running = self._book.running()
        told = [number for number in running if number in ended]
        for number in told:
            self._book.tell(number, ended[number])
        dead = sorted(set(running) - set(told))
        for number in dead:
            self._close(number, innocent=number != dead[-1])
        servers, left = self._stop(probe, policy)
        for number in running:
            compress_logs(self._folder / trial_folder(number))
        return Recovered(
            tuple(told), tuple(self._drawn), tuple(self._repeated), tuple(self._given_up), servers, left
        )

    def _close(self, number: int, innocent: bool) -> None:
        """End a trial that never ended; it may have died between Optuna's table and ours.

        Args:
            innocent: It was over and waited for its canary, which is the one that ran when the runner died.
        """
        history = self._book.history()
        trial = next(past for past in history if past.number == number)
        with self._journal.engine.connect() as connection:
            row = queries.trial(connection, number)
            scene = death_scene(connection, self._folder, self._uuid, trial, history)
            ended_at = last_sign(connection, number)
        if row is None or row.settings is None:
            new = NewTrial(number, trial.role, trial.settings, trial_folder(number))  # type: ignore[arg-type]
            self._journal.begin_trial(new)
        outcome = Interrupted(seconds=scene.seconds) if innocent else judge_death(scene)
        self._book.finish_dead(number, outcome, None if innocent else scene.death, ended_at)
        if isinstance(outcome, SettingsFailed | EnvironmentFailed):
            self._given_up.append((number, outcome.failure.summary))
        elif self._is_whole(trial.settings) or trial.role != "search":
            self._repeated.append((number, "killed" if innocent else scene.death))
        else:
            self._drawn.append(number)

    def _stop(self, probe: GpuProbe, policy: StopPolicy) -> tuple[int, str]:
        """End the servers that the last runner left.

        Returns:
            How many processes and containers there were, and what could not be ended.
        """
        servers = len(left_processes(self._uuid)) + len(remove_marked(self._uuid))
        left = stop_marked(self._uuid, probe, {}, policy=policy).left_behind if servers else ""
        return servers, left


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in numbers)
