"""What stands in a report, gathered from a study once for every form of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from autotune.export import sh
from autotune.export.from_study import NothingToExportError, winner
from autotune.figures import Figure
from autotune.importing.imported import taken_words
from autotune.levels import by_level, winner_changes
from autotune.standing import Standing, read_standing
from autotune.study_pictures import PictureError, PictureRequest, draw, pictures_of
from autotune.study_view import StudyView
from autotune.verdict import Verdict
from db import queries
from db.imports import ImportedSource, imported_sources
from db.rows import EventRow, NoteRow, TrialRow
from trials.outcome import Measurement
from trials.settings import SettingValue


@dataclass(frozen=True)
class Change:
    """A setting in which the winner differs from the baseline; None: not set."""

    setting: str
    before: SettingValue | None
    after: SettingValue | None


@dataclass(frozen=True)
class FailureGroup:
    """Trials that failed in the same way.

    Attributes:
        example: What was said of the first of them.
    """

    kind: str
    trials: Sequence[int]
    example: str


@dataclass(frozen=True)
class Report:
    """A night in the morning.

    Attributes:
        verdicts: Main level first.
        command: The winner's, ready for a shell; None while nothing has worked.
        measured: What the winner reached, one per level.
        events: Warnings and errors of the night itself.
        imports: Sources of boots from elsewhere that the search was told of.
        pictures: Those that say something about this study, each with its table.
    """

    study: StudyView
    standing: Standing
    machine: str
    verdicts: Sequence[Verdict]
    command: str | None
    changes: Sequence[Change]
    measured: Sequence[Measurement]
    failures: Sequence[FailureGroup]
    events: Sequence[EventRow]
    notes: Sequence[NoteRow]
    imports: Sequence[ImportedSource]
    pictures: Mapping[str, Figure]
    caveat: str | None = None

    @property
    def simulated(self) -> bool:
        return self.study.card.simulated

    @property
    def across_levels(self) -> Sequence[str]:
        """Where the winner changes, one sentence each."""
        return winner_changes(self.verdicts)

    @property
    def drift(self) -> str | None:
        """Of the machine over the night, as far as repeats tell."""
        return drift.sentence if (drift := self.verdicts[0].drift) else None

    @property
    def known(self) -> Sequence[str]:
        """Boots saved, boots known from elsewhere, and the machine's drift, one sentence each."""
        saved = self.standing.saved_words
        told = [f"Told of {taken_words(source)}." for source in self.imports]
        return [*([f"Saved {saved}."] if saved else []), *told, *filter(None, [self.drift])]

    @property
    def title(self) -> str:
        word = " (simulated)" if self.simulated else ""
        return f"{self.study.name}{word}"


def read_report(
    connection: Connection, study: StudyView, *, pictures: bool, caveat: str | None = None
) -> Report:
    """Gather a report.

    Args:
        pictures: Draw them; text needs none.
        caveat: What may be missing from the study's file.
    """
    main = study.bench.main_level
    levels = sorted(study.bench.levels, key=lambda level: (level != main, level))
    best = study.verdict().best
    return Report(
        study=study,
        standing=read_standing(connection, study),
        machine=_machine(study),
        verdicts=by_level(
            study.trials, levels, study.limits, pinned=study.pinned, simulated=study.card.simulated
        ),
        command=_command(connection, study),
        changes=_changes(study),
        measured=() if best is None else study.trials[study.places[best]].measurements,
        failures=_failures(study.rows),
        events=[event for event in queries.events(connection) if _matters(event)],
        notes=queries.notes(connection),
        imports=imported_sources(connection),
        pictures=_pictures(connection, study) if pictures else {},
        caveat=caveat,
    )


def _machine(study: StudyView) -> str:
    names = [str(card.get("name", "")) for card in study.card.gpus]
    word = "simulated " if study.card.simulated else ""
    cards = [f"{names.count(name)} {word}{name}" for name in sorted(set(names))]
    versions = study.card.versions
    known = (("SGLang", versions.get("sglang")), ("driver", versions.get("driver")))
    return ", ".join([*cards, *(f"{what} {version}" for what, version in known if version)])


def _command(connection: Connection, study: StudyView) -> str | None:
    try:
        return sh.launch_command(winner(connection, study))
    except NothingToExportError:
        return None


def _changes(study: StudyView) -> list[Change]:
    verdict = study.verdict()
    if verdict.best is None or verdict.baseline is None:
        return []
    after = study.trials[study.places[verdict.best]].settings
    before = study.trials[study.places[verdict.baseline]].settings
    names = dict.fromkeys((*after, *before))
    pairs = (Change(name, before.get(name), after.get(name)) for name in names)
    return [change for change in pairs if change.before != change.after]


def _failures(rows: Sequence[TrialRow]) -> list[FailureGroup]:
    """The most frequent kind first."""
    by_kind: dict[str, list[TrialRow]] = defaultdict(list)
    for row in rows:
        if row.failure_kind is not None:
            by_kind[row.failure_kind].append(row)
    groups = [
        FailureGroup(kind, [row.number for row in same], same[0].failure_summary or "")
        for kind, same in by_kind.items()
    ]
    return sorted(groups, key=lambda group: -len(group.trials))


def _matters(event: EventRow) -> bool:
    """Warnings of single trials stand with their trial."""
    return event.level == "error" or (event.level == "warning" and event.trial is None)


def _pictures(connection: Connection, study: StudyView) -> dict[str, Figure]:
    drawn = {}
    for name in pictures_of(study):
        try:
            drawn[name] = draw(name, study, connection, PictureRequest())
        except PictureError:
            continue  # this study has too little to show in it
    return drawn
