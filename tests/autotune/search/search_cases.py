"""A small space and shorthand for what trials show, shared by the search tests."""

from __future__ import annotations

from typing import Any

import optuna
from optuna.study import Study
from optuna.trial import TrialState

from autotune.search import CrashAwareSampler, SearchSpace, Settings
from autotune.search.history import STAGES, Failure, Observation

TABLE: dict[str, Any] = {
    "mem_fraction_static": {"low": 0.70, "high": 0.94, "step": 0.01},
    "cuda_graph_max_bs": [16, 64, 256, 512],
    "layout": ["tp8", "tp8-ep8", "tp8-adp2"],
    "speculative_algorithm": ["off", "EAGLE3"],
    "speculative_num_steps": {"low": 1, "high": 4},
    "speculative_eagle_topk": [1, 4],
    "speculative_num_draft_tokens": {"low": 2, "high": 8},
    "all_reduce": ["nccl", "pcie_ipc", "torch_symm_mem"],
    "flag.attention-backend": ["flashinfer", "triton", "fa3"],
}
SPACE = SearchSpace.from_dict(TABLE)

PLAIN: Settings = {
    "mem_fraction_static": 0.85,
    "cuda_graph_max_bs": 64,
    "layout": "tp8",
    "speculative_algorithm": "off",
    "all_reduce": "nccl",
    "flag.attention-backend": "flashinfer",
}

GIB = 96.0


def good(number: int, value: float = 100.0, **changes: Any) -> Observation:
    return Observation(number, {**PLAIN, **named(changes)}, "good", value=value, score=value)


def crash(number: int, kind: str, stage: str, *named_settings: str, **changes: Any) -> Observation:
    failure = Failure(kind, STAGES.index(stage), named_settings)
    return Observation(number, {**PLAIN, **named(changes)}, "crash", failure=failure)


def named(changes: dict[str, Any]) -> Settings:
    """Keyword-friendly names to settings: ``attention`` for the flag."""
    return {
        "flag.attention-backend" if name == "attention" else name: value for name, value in changes.items()
    }


def failure(kind: str, stage: str, **remedy: Any) -> dict[str, Any]:
    """A ``failure`` attribute."""
    return {
        "kind": kind,
        "stage": stage,
        "summary": kind,
        "evidence": [],
        "remedies": [remedy] if remedy else [],
        "at_fault": "settings",
    }


def new_study(sampler: CrashAwareSampler, direction: str = "maximize") -> Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(direction=direction, sampler=sampler)


def speed(settings: Settings) -> float:
    """A throughput with one best place and no noise."""
    value = 100.0
    value *= {"nccl": 1.0, "pcie_ipc": 1.4, "torch_symm_mem": 0.8}[str(settings["all_reduce"])]
    value *= {"tp8": 1.0, "tp8-ep8": 0.8, "tp8-adp2": 0.9}[str(settings["layout"])]
    value *= {16: 1.1, 64: 1.05, 256: 1.0, 512: 0.9}[int(settings["cuda_graph_max_bs"])]
    if settings["speculative_algorithm"] != "off":
        value *= 1.2 + 0.1 * int(settings["speculative_num_steps"])
    return value


def drive(study: Study, space: SearchSpace, boots: int, crashes: Any = lambda _: None) -> list[Settings]:
    """Ask, boot, tell; ``crashes`` gives a ``failure`` attribute or None. Returns what was booted."""
    booted = []
    for _ in range(boots):
        trial = study.ask()
        settings = space.suggest(trial)
        booted.append(settings)
        broken = crashes(settings)
        if broken is None:
            study.tell(trial, speed(settings))
        else:
            trial.set_user_attr("failure", broken)
            study.tell(trial, state=TrialState.PRUNED)
    return booted
