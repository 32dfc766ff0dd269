"""After a death: what the last runner left is stopped, told or marked for repetition."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.night.study_book import StudyBook
from db import queries
from db.journal import Journal, NewTrial
from trials.container import remove_marked
from trials.gpus import GpuProbe
from trials.marks import marked_processes, stop_marked
from trials.outcome import Interrupted
from trials.stopping import StopPolicy


@dataclass(frozen=True)
class Recovered:
    """What was found.

    Attributes:
        told: Trials that had ended and were only told now.
        interrupted: Trials that died with their runner; their settings will be asked again.
        servers: Processes of dead servers that were stopped.
        left_behind: What could not be stopped, empty when the machine is clean.
    """

    told: tuple[int, ...] = ()
    interrupted: tuple[int, ...] = ()
    servers: int = 0
    left_behind: str = ""

    @property
    def sentences(self) -> list[str]:
        found = []
        if self.servers:
            found.append(f"stopped {self.servers} processes of servers that the last runner left")
        if self.told:
            found.append(f"finished the books of trial {_list(self.told)}, which had ended")
        if self.interrupted:
            found.append(f"trial {_list(self.interrupted)} died with the last runner and will be run again")
        return found


def recover(
    book: StudyBook, journal: Journal, study_uuid: str, probe: GpuProbe, policy: StopPolicy
) -> Recovered:
    """Bring a study back to order; the caller holds the runner lock, so nobody else runs it."""
    servers = len(marked_processes(study_uuid)) + len(remove_marked(study_uuid))
    left = stop_marked(study_uuid, probe, {}, policy=policy).left_behind if servers else ""
    told, interrupted = [], []
    with journal.engine.connect() as connection:
        ended = queries.untold_outcomes(connection)
        known = {row.number for row in queries.trials(connection)}
    for number in book.running():
        if number in ended:
            book.tell(number, ended[number])
            told.append(number)
        else:
            _interrupt(book, journal, number, known)
            interrupted.append(number)
    return Recovered(tuple(told), tuple(interrupted), servers, left)


def _interrupt(book: StudyBook, journal: Journal, number: int, known: set[int]) -> None:
    """Close a trial that never ended; it may have died between Optuna's table and ours."""
    trial = next(past for past in book.history() if past.number == number)
    if number not in known:
        folder = f"trials/{number:04d}"
        journal.begin_trial(NewTrial(number, trial.role, trial.settings, folder))  # type: ignore[arg-type]
    outcome = Interrupted(boots=0)
    journal.finish_trial(number, outcome, main_level=1)
    book.tell(number, outcome)


def _list(numbers: tuple[int, ...]) -> str:
    return ", ".join(str(number) for number in numbers)
