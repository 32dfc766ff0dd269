"""How a trial comes into Optuna's tables: proposed by the sampler, or with settings that somebody chose."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from optuna import Study
from optuna.storages import BaseStorage
from optuna.trial import TrialState, create_trial

from autotune.search import SearchSpace
from trials.settings import Settings

Role: TypeAlias = Literal["search", "baseline", "canary", "final"]


@dataclass(frozen=True)
class Request:
    """Settings to run that did not come from the sampler.

    Attributes:
        why: One sentence for the table and the page.
        replicate_of: The trial whose settings are repeated, None for new ones.
        wish: Id of the inbox request that it answers, None without one.
    """

    settings: Settings
    role: Role
    why: str
    replicate_of: int | None = None
    wish: int | None = None


@dataclass(frozen=True)
class Asked:
    """A RUNNING trial.

    Attributes:
        key: Canonical key of the settings.
    """

    number: int
    trial_id: int
    role: Role
    settings: Settings
    key: Hashable
    proposal: dict[str, Any] = field(default_factory=dict)
    replicate_of: int | None = None

    @property
    def why(self) -> str:
        return str(self.proposal.get("why", ""))

    @property
    def p_boots(self) -> float | None:
        return self.proposal.get("p_boots")


def ask_sampler(study: Study, storage: BaseStorage, space: SearchSpace) -> Asked:
    """Let the study's sampler propose; whatever it raises passes through, and the trial is told FAIL."""
    trial = study.ask()
    try:
        settings = dict(space.suggest(trial))
    except Exception:
        study.tell(trial, state=TrialState.FAIL)
        raise
    storage.set_trial_user_attr(trial._trial_id, "role", "search")
    proposal = dict(storage.get_trial(trial._trial_id).user_attrs.get("proposal", {}))
    key = space.canonical(settings)
    return Asked(trial.number, trial._trial_id, "search", settings, key, proposal)


def ask_requested(study: Study, storage: BaseStorage, space: SearchSpace, request: Request) -> Asked:
    """Start a trial whose settings are given, past the sampler.

    It is created RUNNING with its parameters in one statement, so that a death between asking and running
    leaves a trial that recovery finds, never a waiting one that would be run a second time.
    """
    proposal = _proposal(request)
    attributes: dict[str, Any] = {"role": request.role, "proposal": proposal}
    if request.replicate_of is not None:
        attributes["replicate_of"] = request.replicate_of
    distributions = {name: space.distributions[name] for name in request.settings}
    template = create_trial(
        state=TrialState.RUNNING,
        params=dict(request.settings),
        distributions=distributions,
        user_attrs=attributes,
    )
    trial_id = storage.create_new_trial(study._study_id, template_trial=template)
    number = storage.get_trial(trial_id).number
    return Asked(
        number=number,
        trial_id=trial_id,
        role=request.role,
        settings=dict(request.settings),
        key=space.canonical(request.settings),
        proposal=proposal,
        replicate_of=request.replicate_of,
    )


def _proposal(request: Request) -> dict[str, Any]:
    return {
        "why": request.why,
        "parent": request.replicate_of,
        "changes": {},
        "p_boots": None,
        "expected": None,
    }
