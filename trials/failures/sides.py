"""Whose fault a kind of failure is, as the study's samplers are told."""

from __future__ import annotations

from typing import Final

from trials.outcome import AtFault, FailureKind

_ENVIRONMENT: Final = frozenset({FailureKind.ENVIRONMENT, FailureKind.MODEL, FailureKind.UNKNOWN})


def side_of(kind: FailureKind) -> AtFault:
    """The settings' or the environment's. ``unknown`` is the environment's until a canary has passed."""
    return "environment" if kind in _ENVIRONMENT else "settings"
