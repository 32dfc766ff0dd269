"""Which incident decides, and which family it is of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trials.failures.case import Case
from trials.failures.families import FAMILIES
from trials.failures.family import Family
from trials.failures.incidents import Incident
from trials.failures.situation import Situation


@dataclass(frozen=True)
class Finding:
    """One incident and what it was recognised as; ``family`` None: nothing known."""

    case: Case
    family: Family | None
    match: re.Match[str] | None

    @property
    def consequence(self) -> bool:
        return self.family is not None and self.family.consequence

    @property
    def strong(self) -> bool:
        return self.case.incident.strong


def recognise(incident: Incident, situation: Situation) -> Finding:
    """Try every exception of the incident, the likeliest cause first, against every family in order."""
    findings = [_named(Case(statement.text, incident, situation)) for statement in incident.by_weight()]
    findings = findings or [_named(Case(incident.header, incident, situation))]
    causes = (finding for finding in findings if finding.family is not None and not finding.consequence)
    echoes = (finding for finding in findings if finding.consequence)
    return next(causes, None) or next(echoes, None) or findings[0]


def _named(case: Case) -> Finding:
    for family in FAMILIES:
        match = family.match(case)
        if match is not None:
            return Finding(case, family, match)
    return Finding(case, None, None)


def decide(incidents: Sequence[Incident], situation: Situation) -> Finding | None:
    """The finding that decides, None when nothing broke.

    The first exception by time over all ranks decides, whether we know it or not. Only an echo of another
    failure gives way to a later one, and only a traceback that may have been caught to one that was not.
    """
    causes: list[Finding] = []
    unknown: list[Finding] = []
    echoes: list[Finding] = []
    for incident in sorted(incidents, key=lambda incident: (incident.stamp, incident.number)):
        finding = recognise(incident, situation)
        if finding.family is None:
            if finding.strong:
                return causes[0] if causes else finding
            unknown.append(finding)
        elif finding.consequence:
            echoes.append(finding)
        elif finding.strong:
            return finding
        else:
            causes.append(finding)
    quotable = [finding for finding in unknown if finding.case.incident.frames]
    return next(iter([*causes, *quotable, *echoes]), None)
