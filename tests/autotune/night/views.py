"""Trials as advisers see them, in a line each."""

from __future__ import annotations

from typing import Any

from optuna.trial import TrialState

from autotune.trial_view import TrialView
from trials.outcome import AtFault, Failure, FailureKind, Stage


def failure(kind: FailureKind = FailureKind.ENVIRONMENT, at_fault: AtFault = "environment") -> Failure:
    return Failure(kind=kind, stage=Stage.START, summary="no disk.", at_fault=at_fault)


def worked(number: int, tok_s: float = 80.0, **more: Any) -> TrialView:
    return _view(number, TrialState.COMPLETE, value=tok_s, **more)


def machine_failed(number: int, **more: Any) -> TrialView:
    return _view(number, TrialState.FAIL, failure=failure(), **more)


def settings_failed(number: int, **more: Any) -> TrialView:
    return _view(number, TrialState.PRUNED, failure=failure(FailureKind.OOM_KV_POOL, "settings"), **more)


def stopped(number: int, **more: Any) -> TrialView:
    return _view(number, TrialState.PRUNED, **more)


def interrupted(number: int, **more: Any) -> TrialView:
    return _view(number, TrialState.FAIL, **more)


def running(number: int, **more: Any) -> TrialView:
    return _view(number, TrialState.RUNNING, **more)


def _view(number: int, state: TrialState, **more: Any) -> TrialView:
    key = more.pop("key", number)
    return TrialView(number, state, more.pop("settings", {"a": number}), key, more.pop("asked", key), **more)
