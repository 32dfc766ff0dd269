"""One sampler on one box with a budget of boot costs, recorded boot by boot."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import TrialState

from autotune.search import CrashAwareSampler, SearchSpace, Settings
from tests.bench.analytic import AnalyticBox
from tests.bench.optimum import optimum, register

BUDGET = 80.0
MAX_TRIALS = 400
"""A sampler that asks for nothing but free refusals is stopped here."""

LATE = 10
"""Crashes after this many trials are late ones."""

Recommend = Callable[[Study], Settings | None]


@dataclass
class Trace:
    """What one race showed.

    Attributes:
        costs: Boot-cost units used up, after each trial.
        regrets: Regret of the settings recommended then, by their true value; 1 while nothing has worked.
        crashed: Whether each trial crashed.
        ask_s: Time of each proposal, s.
        saved: Boots that the memory pre-flight saved, as the sampler counts them.
    """

    costs: list[float] = field(default_factory=list)
    regrets: list[float] = field(default_factory=list)
    crashed: list[bool] = field(default_factory=list)
    ask_s: list[float] = field(default_factory=list)
    saved: int = 0

    def regret_at(self, units: float) -> float:
        """Regret when this much had been spent."""
        within = [regret for cost, regret in zip(self.costs, self.regrets, strict=True) if cost <= units]
        return within[-1] if within else 1.0

    def boots_to(self, regret: float) -> float:
        """Cost units until the recommendation was within this regret for the first time; inf: never."""
        pairs = zip(self.costs, self.regrets, strict=True)
        return next((cost for cost, found in pairs if found <= regret), float("inf"))

    @property
    def late_crash_share(self) -> float:
        late = self.crashed[LATE:]
        return sum(late) / len(late) if late else 0.0


def luckiest(study: Study) -> Settings | None:
    """What a plain Optuna user would take: the best single measurement."""
    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return max(done, key=lambda trial: trial.value or 0.0).params if done else None


def race(
    box: AnalyticBox,
    sampler: BaseSampler,
    seed: int,
    *,
    recommend: Recommend = luckiest,
    crash_value: float | None = None,
    budget: float = BUDGET,
) -> Trace:
    """Let a sampler spend its budget on a box.

    Args:
        box: The box.
        sampler: Any Optuna sampler.
        seed: Of the box's noise.
        recommend: Which settings the study would hand over now.
        crash_value: Value told for a crash instead of PRUNED, for samplers that ignore pruned trials.
        budget: Boot-cost units.
    """
    best = optimum(register(box).name)[0]
    rng = np.random.default_rng([seed, 77])
    space = SearchSpace.from_dict(box.table)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    trace, spent = Trace(), 0.0
    chosen: Settings | None = None
    while spent < budget and len(trace.costs) < MAX_TRIALS:
        started = time.perf_counter()
        trial = study.ask()
        settings = space.suggest(trial)
        trace.ask_s.append(time.perf_counter() - started)
        answer = box.boot(settings, rng)
        for name, attribute in answer.attributes.items():
            trial.set_user_attr(name, attribute)
        spent += answer.cost
        if answer.value is not None:
            study.tell(trial, answer.value)
        elif crash_value is not None:
            study.tell(trial, crash_value)
        else:
            study.tell(trial, state=TrialState.PRUNED)
        if answer.value is not None:
            chosen = recommend(study)
        trace.costs.append(spent)
        trace.crashed.append(answer.value is None)
        trace.regrets.append(1.0 if chosen is None else 1.0 - box.true_value(space.active(chosen)) / best)
    if isinstance(sampler, CrashAwareSampler):
        trace.saved = sampler.preflight_saved(study)
    return trace


def quiet() -> None:
    """Optuna's chatter off."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
