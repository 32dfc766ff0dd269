"""A finding in words: summary, evidence and remedies with their bounds."""

from __future__ import annotations

import re

from trials.failures.case import Case
from trials.failures.family import Advice
from trials.failures.gpu_memory import memory_evidence
from trials.failures.judge import Finding
from trials.outcome import Failure, FailureKind, Remedy

MAX_QUOTE = 240
"""Characters of the log that a summary quotes."""


def failure_of(finding: Finding) -> Failure:
    """The failure that a finding stands for; ``unknown`` with the exception quoted when nothing knows it."""
    case, family, match = finding.case, finding.family, finding.match
    if family is None or match is None:
        return Failure(
            kind=FailureKind.UNKNOWN,
            stage=case.stage,
            summary=f"Not recognised: {_quote(case.text)}",
            evidence=case.incident.evidence(),
            at_fault="environment",
        )
    return Failure(
        kind=family.kind,
        stage=case.stage,
        summary=_filled(family.summary, match),
        evidence=(*case.incident.evidence(), *memory_evidence(case, family)),
        remedies=_remedies(family.remedies, case, match),
        at_fault=family.side,
    )


def _filled(template: str, match: re.Match[str]) -> str:
    """The template with what the sign captured; an ending with a quotation gets no second full stop."""
    words = {name: _quote(value or "?") for name, value in match.groupdict().items()}
    text = template.format(**words)
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _quote(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "nothing was said")
    return line if len(line) <= MAX_QUOTE else f"{line[:MAX_QUOTE]}..."


def _remedies(advice: tuple[Advice, ...], case: Case, match: re.Match[str]) -> tuple[Remedy, ...]:
    return tuple(
        Remedy(setting=item.setting, direction=item.direction, bound=_bound(item, case, match))
        for item in advice
        if case.situation.speculative or not item.speculative
    )


def _bound(advice: Advice, case: Case, match: re.Match[str]) -> float | None:
    """The value to go beyond, in the setting's own unit. A "-1" that switches something off is no bound."""
    if not advice.bound:
        return None
    if advice.bound != "current":
        return float(match[advice.bound])
    value = case.situation.number(advice.setting)
    return None if value is not None and value < 0 and advice.direction == "lower" else value
