"""CrashAwareSampler: an Optuna sampler that learns from what boots and from what crashes, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from autotune.search.belief import Belief
from autotune.search.codec import Codec
from autotune.search.explanations import Proposal
from autotune.search.feasibility import FeasibilityModel
from autotune.search.history import History, read_history
from autotune.search.limits import check_limits
from autotune.search.memory import MemoryWindow
from autotune.search.parameters import Settings, SpaceError
from autotune.search.preflight import Preflight
from autotune.search.priors import earlier_observations, next_known_good, weigh
from autotune.search.proposals import Judge, Proposer, SpaceUsedUpError
from autotune.search.ruled_out import ruled_out
from autotune.search.space import SearchSpace

_SWEEP_EVERY = 2

Forbidden = Callable[[Settings], str | None]


class CrashAwareSampler(BaseSampler):
    """Proposes settings that are likely to boot and to be better, and never the same ones twice.

    It reads COMPLETE values, the user attribute ``failure`` of PRUNED trials (a PRUNED trial without it and
    without values is a plain crash), ``boot`` and ``measurements`` of good ones, and ``ran`` where the server
    used other values than asked. FAIL trials and those in the study attribute ``suspects`` are ignored,
    RUNNING ones are pending. Everything is read from the study at each ask, so that any number of workers and
    restarts change nothing. Each proposal explains itself in the trial's user attribute ``proposal``.

    Args:
        space: The search space; None: inferred from past trials, the first being drawn at random.
        seed: Same seed and same history, same proposal. None: drawn once.
        forbidden: Told the settings that count, gives the reason against them or None.
        limits: What a winner must also keep, as in ``[limits]`` of ``study.toml``.
        known_good: Settings that are proposed first, in this order.
        unit: Of the objective, for the sentences of proposals.
    """

    def __init__(
        self,
        space: SearchSpace | None = None,
        *,
        seed: int | None = None,
        forbidden: Forbidden | None = None,
        limits: Mapping[str, float | None] | None = None,
        known_good: Sequence[Mapping[str, Any]] = (),
        unit: str = "",
    ) -> None:
        self._space = space
        self._seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        self._forbidden = forbidden
        self._limits = check_limits(limits or {})
        self._unit = unit
        self._known_good = [
            space.check(settings, where=f"[[known_good]] {at}") if space is not None else dict(settings)
            for at, settings in enumerate(known_good, start=1)
        ]
        self._codec = Codec(space) if space is not None else None
        self._random = RandomSampler(seed=self._seed)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The whole space, conditionals included."""
        space = self._space_of(study)
        return {} if space is None else space.distributions

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """One joint proposal.

        Raises:
            SpaceUsedUpError: If nothing is left to try. ``study.optimize`` tells the trial FAIL and ends with
                it; who asks and tells does the same. Optuna draws at the first ``suggest_*``, not at ``ask``.
            SpaceError: If the study's trials were drawn from another space.
        """
        codec = self._codec_of(study)
        if codec is None:
            return {}
        history = self._read(study, codec)
        proposal = self._propose(study, codec, history, trial.number)
        self._store(study, trial, proposal)
        return dict(proposal.settings)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """At random while the space is not known.

        Raises:
            SpaceError: If a space was given and this parameter is not in it as suggested.
        """
        if self._space is not None:
            self._space.check_stored({param_name: param_distribution})
        return self._random.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Refuse a trial whose ranges were not those of the space.

        Raises:
            SpaceError: If they were not.
        """
        if self._space is not None:
            self._space.check_stored(trial.distributions)

    def incumbent(self, study: Study) -> FrozenTrial | None:
        """The trial with the best posterior mean that keeps the limits; None while nothing has worked."""
        found = self._believed(study)
        if found is None:
            return None
        number = found[0].incumbent.seen.number
        return next(trial for trial in study.get_trials(deepcopy=False) if trial.number == number)

    def preflight_saved(self, study: Study) -> int:
        """Boots of provably dead settings that the memory pre-flight has saved so far."""
        codec = self._codec_of(study)
        if codec is None:
            return 0
        trials = study.get_trials(deepcopy=False)
        return len(ruled_out((trial.user_attrs.get("proposal") for trial in trials), codec.space))

    def _believed(self, study: Study) -> tuple[Belief, History] | None:
        """What is believed now, None while nothing has been measured in this study."""
        codec = self._codec_of(study)
        history = self._read(study, codec) if codec is not None else None
        if codec is None or history is None or not history.measured_here():
            return None
        window = MemoryWindow(codec, history.ended("good", "stopped", "crash"))
        return Belief(codec, history, window, self._limits), history

    def _space_of(self, study: Study) -> SearchSpace | None:
        if self._space is not None:
            return self._space
        finished = (TrialState.COMPLETE, TrialState.PRUNED)
        return SearchSpace.from_trials(study.get_trials(deepcopy=False, states=finished))

    def _codec_of(self, study: Study) -> Codec | None:
        if self._codec is not None:
            return self._codec
        space = self._space_of(study)
        return None if space is None else Codec(space)

    def _read(self, study: Study, codec: Codec) -> History:
        if self._space is not None:
            for trial in study.get_trials(deepcopy=False):
                self._space.check_stored(trial.distributions)
        return weigh(read_history(study, codec.space, earlier_observations(study, codec.space)), codec)

    def _judge(self, codec: Codec, history: History) -> Judge:
        return FeasibilityModel(codec, history.ended("good", "stopped", "crash"))

    def _propose(self, study: Study, codec: Codec, history: History, number: int) -> Proposal:
        first = next_known_good(self._known_good, codec, history)
        if first is not None:
            return first
        crashes_and_good = history.ended("good", "stopped", "crash")
        proposer = Proposer(
            codec,
            history,
            self._judge(codec, history),
            Preflight(codec, crashes_and_good),
            self._limits,
            self._forbidden,
            np.random.default_rng([self._seed, number]),
            sweeping=number % _SWEEP_EVERY == _SWEEP_EVERY - 1,
            unit=self._unit,
        )
        return proposer.propose()

    def _store(self, study: Study, trial: FrozenTrial, proposal: Proposal) -> None:
        """Samplers are given no public way to write attributes; Optuna's own use the storage too."""
        attributes: dict[str, Any] = {"proposal": proposal.attribute()}
        if proposal.replicate_of is not None:
            attributes["replicate_of"] = proposal.replicate_of
        for name, attribute in attributes.items():
            trial.set_user_attr(name, attribute)
            study._storage.set_trial_user_attr(trial._trial_id, name, attribute)


__all__ = ["CrashAwareSampler", "SpaceError", "SpaceUsedUpError"]
