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
    cases = [Case(statement.text, incident, situation) for statement in incident.by_weight()]
    echo: Finding | None = None
    for case in cases:
        for family in FAMILIES:
            match = family.match(case)
            if match is None:
                continue
            finding = Finding(case, family, match)
            if not family.consequence:
                return finding
            echo = echo or finding
            break
    if echo is not None:
        return echo
    return Finding(cases[0] if cases else Case(incident.header, incident, situation), None, None)


def decide(incidents: Sequence[Incident], situation: Situation) -> Finding | None:
    """The finding that decides, None when nothing broke.

    The first exception by time over all ranks decides, whether we know it or not. Only an echo of another
    failure gives way to a later one, and only a traceback that may have been caught to one that was not.
    """
    in_time = sorted(incidents, key=lambda incident: (incident.stamp, incident.number))
    findings = [recognise(incident, situation) for incident in in_time]
    fatal = [finding for finding in findings if finding.strong and not finding.consequence]
    known = [finding for finding in findings if finding.family is not None]
    causes = [finding for finding in known if not finding.consequence]
    if fatal:
        first = fatal[0]
        if first.family is None:
            earlier = (cause for cause in causes if findings.index(cause) < findings.index(first))
            return next(earlier, first)
        return first
    return next(iter([*causes, *_first_unknown(findings), *known]), None)


def _first_unknown(findings: Sequence[Finding]) -> list[Finding]:
    """An unrecognised exception says more than the echo of it: it is quoted."""
    return [finding for finding in findings if finding.family is None and finding.case.incident.frames]
