"""SMAC3 (Lindauer et al. 2022) behind Optuna's sampler interface, as its facade for costly functions.

Settings that do not count are part of its space all the same, as they are for Optuna's joint samplers. A
crash is told as SMAC's own kind of crash.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

from ConfigSpace import Categorical, ConfigurationSpace, Integer
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from smac import HyperparameterOptimizationFacade, Scenario
from smac.runhistory import StatusType, TrialInfo, TrialValue

from autotune.search import SearchSpace

_MOST_TRIALS = 1000


class SmacSampler(BaseSampler):
    """Asks SMAC3 for the whole space at once.

    Args:
        space: Of lists and of ranges with steps.
    """

    def __init__(self, space: SearchSpace, seed: int) -> None:
        self._space = space
        self._values = {name: parameter.values or () for name, parameter in space.parameters.items()}
        self._asked: dict[int, TrialInfo] = {}
        self._random = RandomSampler(seed=seed)
        scenario = Scenario(
            self._configuration_space(seed),
            deterministic=True,
            n_trials=_MOST_TRIALS,
            seed=seed,
            crash_cost=0.0,
            output_directory=tempfile.mkdtemp(prefix="smac-"),
        )
        self._smac = HyperparameterOptimizationFacade(scenario, _never_called, logging_level=40)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self._space.distributions

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        info = self._smac.ask()
        self._asked[trial.number] = info
        return {name: self._values[name][int(place)] for name, place in dict(info.config).items()}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._random.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        worked = state is TrialState.COMPLETE and values is not None
        cost = -values[0] if worked and values is not None else 0.0
        status = StatusType.SUCCESS if worked else StatusType.CRASHED
        self._smac.tell(self._asked.pop(trial.number), TrialValue(cost=cost, status=status))

    def _configuration_space(self, seed: int) -> Any:
        """Every setting as the place of its value in the list of its values."""
        space = ConfigurationSpace(seed=seed)
        for name, parameter in self._space.parameters.items():
            last = len(self._values[name]) - 1
            if parameter.is_numeric and last > 0:
                space.add(Integer(name, (0, last)))
            else:
                space.add(Categorical(name, list(range(last + 1))))
        return space


def _never_called(config: Any, seed: int = 0) -> float:
    raise AssertionError("trials are asked and told")
