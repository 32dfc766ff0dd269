"""The samplers of the benchmark, by name. Those whose packages are missing are left out and named."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import optuna
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.study import Study

from autotune.search import CrashAwareSampler, SearchSpace, Settings
from autotune.search.codec import Codec, Matrix
from autotune.search.feasibility import Feasibility
from autotune.search.history import History
from autotune.search.proposals import Judge
from tests.bench.analytic import COSTS, AnalyticBox
from tests.bench.race import Trace, luckiest, race


def best_mean(study: Study) -> Settings | None:
    """What CrashAwareSampler hands over: the best posterior mean."""
    assert isinstance(study.sampler, CrashAwareSampler)
    trial = study.sampler.incumbent(study)
    return None if trial is None else trial.params


class _Oracle:
    """Knows what boots."""

    def __init__(self, box: AnalyticBox, codec: Codec) -> None:
        self._box, self._codec = box, codec

    def judge(self, values: Matrix) -> Feasibility:
        endings = [self._box.ending(self._settings(line))[0] for line in values]
        boots = np.array([float(ending == "good") for ending in endings])
        return Feasibility(boots, np.array([COSTS[ending] for ending in endings]))

    def _settings(self, line: Matrix) -> Settings:
        settings: Settings = {}
        for at, name in enumerate(self._codec.names):
            if np.isnan(line[at]):
                settings[name] = self._codec.grids[at][0]
            elif self._codec.categorical[at]:
                settings[name] = self._codec.grids[at][int(line[at])]
            else:
                settings[name] = float(line[at])
        return self._codec.space.active(settings) | {
            name: value for name, value in settings.items() if name == "flag.moe-a2a-backend"
        }


class OracleSampler(CrashAwareSampler):
    """CrashAwareSampler that is told what boots: what perfect feasibility would be worth."""

    def __init__(self, box: AnalyticBox, seed: int) -> None:
        super().__init__(SearchSpace.from_dict(box.table), seed=seed)
        self._box = box

    def _judge(self, codec: Codec, history: History) -> Judge:
        return _Oracle(self._box, codec)


@dataclass(frozen=True)
class Contestant:
    """A sampler in the race.

    Attributes:
        make: Sampler for a box and a seed.
        crash_value: What a crash is told as, None for PRUNED.
        ours: Hands over the best posterior mean rather than the luckiest measurement.
    """

    make: Callable[[AnalyticBox, int], BaseSampler]
    crash_value: float | None = None
    ours: bool = False

    def run(self, box: AnalyticBox, seed: int) -> Trace:
        recommend = best_mean if self.ours else luckiest
        return race(box, self.make(box, seed), seed, recommend=recommend, crash_value=self.crash_value)


def contestants() -> Mapping[str, Contestant]:
    """Those that can run here."""
    found = {
        "random": Contestant(lambda _, seed: RandomSampler(seed=seed)),
        "tpe": Contestant(lambda _, seed: TPESampler(seed=seed)),
        "tpe-joint": Contestant(
            lambda _, seed: TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True)
        ),
        "crash-aware": Contestant(
            lambda box, seed: CrashAwareSampler(SearchSpace.from_dict(box.table), seed=seed), ours=True
        ),
        "perfect-feasibility": Contestant(OracleSampler, ours=True),
    }
    if importlib.util.find_spec("torch") is not None:
        found["gp-penalised"] = Contestant(
            lambda _, seed: optuna.samplers.GPSampler(seed=seed, warn_independent_sampling=False),
            crash_value=0.0,
        )
    if importlib.util.find_spec("smac") is not None:
        found["smac3"] = Contestant(_smac)
    return found


def _smac(box: AnalyticBox, seed: int) -> BaseSampler:
    from tests.bench.smac_sampler import SmacSampler  # needs the packages smac and ConfigSpace

    return SmacSampler(SearchSpace.from_dict(box.table), seed)
