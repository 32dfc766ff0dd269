"""A study while it is being run: Optuna's tables and ours kept in step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

import optuna
from optuna.samplers import BaseSampler
from optuna.storages import RDBStorage
from optuna.trial import TrialState

from autotune.night.asking import Asked, Request, ask_requested, ask_sampler
from autotune.night.telling import tell, translate
from autotune.search import SearchSpace
from autotune.search.priors import EARLIER
from autotune.trial_view import TrialView, view
from db.imports import imported_boots
from db.journal import Journal, NewTrial
from trials.outcome import AnyOutcome

SUSPECTS = "suspects"
"""Study attribute: numbers of trials that a sick machine may have failed; samplers skip them."""


def trial_folder(number: int) -> str:
    """A trial's folder, relative to the study's."""
    return f"trials/{number:04d}"


class StudyBook:
    """The only writer of a study's trials.

    Commit order of a trial: our tables, Optuna's attributes, Optuna's state. The state is the commit point:
    what died before it is finished or repeated by recovery, what died after it is done.
    """

    def __init__(
        self,
        name: str,
        storage: RDBStorage,
        journal: Journal,
        space: SearchSpace,
        sampler: BaseSampler,
        *,
        main_level: int,
        simulated: bool,
    ) -> None:
        self._storage = storage
        self._journal = journal
        self._space = space
        self._main_level = main_level
        self._simulated = simulated
        self.study = optuna.create_study(
            study_name=name, storage=storage, sampler=sampler, direction="maximize", load_if_exists=True
        )

    def history(self) -> list[TrialView]:
        """Every trial, in order."""
        suspects = set(self.study.user_attrs.get(SUSPECTS, ()))
        trials = self.study.get_trials(deepcopy=False)
        return [view(trial, self._space.canonical, suspects) for trial in trials]

    def propose(self) -> Asked:
        """A trial with the sampler's settings; it knows what the study was told from elsewhere until now."""
        self._recall()
        return self._begun(ask_sampler(self.study, self._storage, self._space))

    def start(self, request: Request) -> Asked:
        """A trial with given settings."""
        return self._begun(ask_requested(self.study, self._storage, self._space, request))

    def finish_dead(self, number: int, outcome: AnyOutcome, death: str | None, ended_at: str | None) -> None:
        """Write how a trial ended that died with its runner.

        Args:
            death: How the runner died while this trial ran; None if another one ran then.
            ended_at: Its last sign of life; None where it gave none.
        """
        if death is not None:
            self._storage.set_trial_user_attr(self._trial_id(number), "death", death)
        self._journal.finish_trial(number, outcome, self._main_level, ended_at)
        self.tell(number, outcome)

    def finish(self, asked: Asked, outcome: AnyOutcome) -> None:
        """Write how a trial ended; after this call it is done, whatever happens."""
        self._journal.finish_trial(asked.number, outcome, self._main_level)
        self.tell(asked.number, outcome)
        self._journal.checkpoint()

    def tell(self, number: int, outcome: AnyOutcome) -> None:
        """Tell Optuna of an outcome that our tables have already."""
        tell(self._storage, self._trial_id(number), translate(outcome, self._main_level))

    def running(self) -> list[int]:
        """Trials that Optuna counts as running; without a runner, they are what a dead one left."""
        trials = self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        return [trial.number for trial in trials]

    def suspect(self, numbers: Iterable[int]) -> None:
        """Let samplers skip these trials from now on."""
        known = set(self.study.user_attrs.get(SUSPECTS, ()))
        self.study.set_user_attr(SUSPECTS, sorted(known | set(numbers)))

    def _trial_id(self, number: int) -> int:
        study_id = self._storage.get_study_id_from_name(self.study.study_name)
        return self._storage.get_trial_id_from_study_id_trial_number(study_id, number)

    def _recall(self) -> None:
        with self._journal.engine.connect() as connection:
            earlier = [asdict(boot) for boot in imported_boots(connection)]
        if earlier != (self.study.user_attrs.get(EARLIER) or []):
            self.study.set_user_attr(EARLIER, earlier)

    def _begun(self, asked: Asked) -> Asked:
        if self._simulated:
            self._storage.set_trial_user_attr(asked.trial_id, "simulated", True)
        self._journal.begin_trial(
            NewTrial(
                number=asked.number,
                role=asked.role,
                settings=asked.settings,
                folder=trial_folder(asked.number),
                replicate_of=asked.replicate_of,
                proposal=asked.proposal,
            )
        )
        return asked
