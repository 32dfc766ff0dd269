"""A study file, opened for running: described, compared with the study file of the user, its book at hand."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import OperationalError

from autotune.night.study_book import StudyBook
from autotune.search import CrashAwareSampler, SpaceError
from autotune.spec import StudySpec
from autotune.spec_problems import SpecError
from autotune.verdict import tok_s_unit
from db import queries
from db.engine import open_storage, reason_of
from db.errors import StudyWriteError
from db.journal import Journal, StudyCard
from db.rows import StudyRow
from trials.fingerprint import fingerprint
from trials.flags import FlagCatalogue
from trials.gpus import GpuProbe
from trials.secrets import redact_text, secrets_in

STUDY_FILE = "study.db"
Forbidden = Callable[[Mapping[str, Any]], str | None]


@dataclass(frozen=True)
class Described:
    """A study that has been described in its file.

    Attributes:
        uuid: The same for all its runs.
        changes: Programs that were replaced since its last run, one sentence each.
    """

    uuid: str
    changes: Sequence[str]


def describe(journal: Journal, spec: StudySpec, catalogue: FlagCatalogue, probe: GpuProbe) -> Described:
    """Write what the study is."""
    with journal.engine.connect() as connection:
        known = queries.study(connection)
    secrets = [*secrets_in(spec.server.args, spec.server.env), spec.notify.webhook or ""]
    links = probe.topology()
    card = StudyCard(
        uuid=known.uuid if known else str(uuid.uuid4()),
        name=spec.name,
        simulated=spec.server.simulated,
        spec_toml=redact_text(spec.portable_text(), secrets),
        spec=json.loads(redact_text(json.dumps(spec.plain()), secrets)),
        versions={
            "autotune": metadata.version("sglang-autotune"),
            "sglang": catalogue.version or _known_version(known),
            "driver": probe.driver_version(),
            "model": fingerprint(spec.server.model_path),
            "draft model": fingerprint(spec.server.draft_model_path or ""),
        },
        gpus=[{**asdict(card), "links": links} for card in probe.cards()],
    )
    journal.describe_study(card)
    return Described(card.uuid, changed_versions(known.versions, card.versions) if known else ())


def open_book(path: Path, journal: Journal, spec: StudySpec, forbidden: Forbidden) -> StudyBook:
    """Open the study's trials.

    Raises:
        SpecError: If the study was run with another space: the sentence names the key.
        StudyWriteError: If the study cannot be written.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    limits = spec.limits.model_dump(exclude_none=True)
    sampler = CrashAwareSampler(
        spec.space,
        seed=spec.study.seed,
        forbidden=forbidden,
        limits=limits,
        unit=tok_s_unit(spec.server.simulated),
    )
    try:
        book = StudyBook(
            spec.name,
            open_storage(path),
            journal,
            spec.space,
            sampler,
            main_level=spec.bench.main_level,
            simulated=spec.server.simulated,
        )
    except (StorageInternalError, OperationalError) as error:
        raise StudyWriteError(f"{path}: the study cannot be written: {reason_of(error)}") from error
    _check_same_space(book, spec)
    return book


def _known_version(known: StudyRow | None) -> str | None:
    """What the server called itself when it ran last: its ``--help`` does not always say."""
    return known.versions.get("sglang") if known else None


def changed_versions(before: Mapping[str, str | None], now: Mapping[str, str | None]) -> list[str]:
    """One sentence per program that was replaced between two runs of a study."""
    return [
        f"{name} was {old} when this study ran last and is {now[name]} now: compare earlier trials with care"
        for name, old in before.items()
        if old and now.get(name) and now[name] != old
    ]


def _check_same_space(book: StudyBook, spec: StudySpec) -> None:
    for trial in book.study.get_trials(deepcopy=False):
        try:
            spec.space.check_stored(trial.distributions)
        except SpaceError as error:
            raise SpecError([spec.problem(("space", error.setting), str(error))]) from error
