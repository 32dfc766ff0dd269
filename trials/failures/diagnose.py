"""From a log to a verdict: what broke, at which stage, whose fault, and what to change."""

from __future__ import annotations

from collections.abc import Iterable

from trials.boot_log import BootLog, LogLine, split_lines
from trials.failures import signs
from trials.failures.exits import broken_card, without_incident
from trials.failures.facts import MachineFacts
from trials.failures.incident_reader import IncidentReader
from trials.failures.incidents import Incident
from trials.failures.judge import Finding, decide
from trials.failures.situation import Situation
from trials.failures.telling import failure_of
from trials.failures.verdict import Diagnosis
from trials.outcome import Failure, Stage
from trials.settings import Settings


class Reading:
    """A log that is being read for a diagnosis. Memory stays bounded whatever the log's length.

    Attributes:
        begun_anew: A server followed one whose story was over: what came before no longer counts.
    """

    def __init__(self) -> None:
        self.begun_anew = False
        self.log = BootLog()
        self.incidents = IncidentReader(self.log)

    def feed(self, number: int, raw: str | bytes) -> None:
        """Take one line of output and its number, from 1."""
        for line in split_lines(raw):
            self._feed_line(number, line)

    def _feed_line(self, number: int, line: LogLine) -> None:
        if line.text.startswith("server_args=") and self._over():
            self.log = BootLog()
            self.incidents = IncidentReader(self.log)
            self.begun_anew = True
        self.log.feed_line(line)
        self.incidents.feed(number, line)

    def _over(self) -> bool:
        """The server so far is done with: further arguments are those of the next one in the same file."""
        return self.log.ready or bool(self.incidents.incidents)


def diagnose(
    lines: Iterable[str | bytes],
    *,
    exit_code: int | None = None,
    stage: Stage | None = None,
    settings: Settings | None = None,
    facts: MachineFacts | None = None,
) -> Diagnosis:
    """Say what became of a server.

    Args:
        lines: Its output, in order.
        exit_code: Of the launcher, where known: negative for a signal, or a shell's 128 + signal.
        stage: How far the worker saw it come; it knows more than the log once the server is ready.
        settings: The settings under test, for the bounds of remedies.
        facts: What the machine knows beside the log.

    Returns:
        A verdict. It says ``unknown`` rather than guess, and quotes the first exception.
    """
    reading = Reading()
    for number, line in enumerate(lines, start=1):
        reading.feed(number, line)
    return conclude(reading, exit_code=exit_code, stage=stage, settings=settings, facts=facts)


def conclude(
    reading: Reading,
    *,
    exit_code: int | None = None,
    stage: Stage | None = None,
    settings: Settings | None = None,
    facts: MachineFacts | None = None,
) -> Diagnosis:
    """The verdict on a log that has been read to its end. Arguments as for ``diagnose``."""
    situation = Situation(reading.log, settings or {}, facts or MachineFacts(), exit_code, stage)
    broken = broken_card(situation)
    if broken is not None:
        return _diagnosis(broken, None, situation)
    finding = decide(_that_count(reading), situation)
    if finding is not None and not (finding.consequence and situation.facts.killed_by_us):
        return _diagnosis(failure_of(finding), finding, situation)
    incidents = reading.incidents
    failure = without_incident(
        situation, stop_requested=incidents.stop_requested, stopped_by_us=incidents.stopped_by_us
    )
    return _diagnosis(failure, None, situation)


def _that_count(reading: Reading) -> list[Incident]:
    """The incidents that can be the reason of a failure."""
    incidents, ready = reading.incidents.incidents, reading.log.ready
    return [
        incident
        for incident in incidents
        if not ready or _kills_a_ready_server(incident, died=reading.incidents.died)
    ]


def _kills_a_ready_server(incident: Incident, *, died: bool) -> bool:
    """After the ready line only what a dying process prints counts, and nothing that a stop has caused.

    Two exceptions: a port that was taken makes the ready line itself false, and a server that is found
    unhealthy when it is stopped had failed before.
    """
    if signs.DECIDES_ALWAYS.match(incident.header):
        return True
    return incident.after_ready and not incident.after_stop and (incident.strong or died)


def _diagnosis(failure: Failure | None, finding: Finding | None, situation: Situation) -> Diagnosis:
    family = None if finding is None or finding.family is None else finding.family.name
    return Diagnosis(failure, family, situation.log.report())
