"""What a study has to export: the winner's command as it ran, with the user's own host and port."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlalchemy import Connection

from autotune.arms import BootNoise, pool
from autotune.export._base import ExportInput, Reached
from autotune.study_view import StudyView
from autotune.trial_view import TrialView
from db import queries
from db.rows import BootRow
from trials.command import user_endpoint
from trials.outcome import Measurement

_OURS = "AUTOTUNE_"


class NothingToExportError(LookupError):
    """The study has no winner at this level; one sentence."""


def winner(connection: Connection, study: StudyView, level: int | None = None) -> ExportInput:
    """The best command at a level; left out: the study's main level.

    Raises:
        NothingToExportError: If the level was not measured, or nothing has worked there.
    """
    level = study.bench.main_level if level is None else level
    if level not in study.bench.levels:
        known = ", ".join(map(str, study.bench.levels))
        raise NothingToExportError(f"study {study.name} has no level {level}; it measures {known}")
    verdict = study.verdict(level)
    if verdict.best is None:
        raise NothingToExportError(f"study {study.name}: {verdict.sentence}")
    trial = _trial(study, verdict.best)
    base = _trial(study, verdict.baseline)
    row = study.row(verdict.best)
    assert trial is not None
    assert row is not None
    boot = _last_boot(connection, study, verdict.best)
    host, port = user_endpoint(study.server.args)
    server = study.server
    return ExportInput(
        study=study.name,
        trial=verdict.best,
        argv=_with_endpoint(_inside_image(boot.argv, server.image), host, port),
        env={name: value for name, value in boot.env.items() if not name.startswith(_OURS)},
        host=host,
        port=port,
        model_path=server.model_path,
        draft_model_path=server.draft_model_path,
        image=server.image,
        gpus=None if server.gpus == "all" else server.gpus,
        settings=trial.settings,
        ran=dict(trial.ran),
        level=level,
        verdict=verdict.to_json(),
        sentence=verdict.sentence,
        measurements=trial.measurements,
        boot=trial.boot,
        reached=[_reached(study, trial, base, at) for at in study.bench.levels],
        boot_noise=math.sqrt(BootNoise.pooled(pool(study.trials, level)).variance),
        baseline=base.settings if base else None,
        versions=study.card.versions,
        gpu_names=[str(card.get("name", "")) for card in study.card.gpus],
        links=next((card.get("links") for card in study.card.gpus), None),
        server=study.card.spec["server"],
        bench=study.card.spec["bench"],
        measured_at=row.ended_at or row.started_at or "",
        simulated=study.card.simulated,
        confirmed=verdict.confirmed,
    )


def measurement_at(exported: ExportInput) -> Measurement:
    """What the exported trial reached at the level that it won."""
    return next(measured for measured in exported.measurements if measured.level == exported.level)


def _trial(study: StudyView, number: int | None) -> TrialView | None:
    return None if number is None else study.trials[study.places[number]]


def _reached(study: StudyView, trial: TrialView, base: TrialView | None, level: int) -> Reached:
    """What the verdict believes where the trial has won; its own boots at all other levels."""
    verdict = study.verdict(level)
    arms = pool(study.trials, level)
    noise = BootNoise.pooled(arms)
    found = {arm.key: noise.estimate(arm) for arm in arms}
    won = verdict.best == trial.number
    return Reached(
        level,
        verdict.throughput if won else found.get(trial.key),
        found.get(base.key) if base else None,
    )


def _last_boot(connection: Connection, study: StudyView, number: int) -> BootRow:
    boots = queries.boots(connection, number)
    if not boots:
        raise NothingToExportError(f"study {study.name}: the command of trial {number} was not recorded")
    return boots[-1]


def _inside_image(argv: Sequence[str], image: str | None) -> tuple[str, ...]:
    """The server's own words out of ``docker run ... --entrypoint PROGRAM IMAGE WORDS``."""
    if image is None or image not in argv:
        return tuple(argv)
    place = argv.index(image)
    program = argv[place - 1 : place] if argv[place - 2] == "--entrypoint" else ()
    return (*program, *argv[place + 1 :])


def _with_endpoint(argv: Sequence[str], host: str, port: int) -> tuple[str, ...]:
    """The trial's own host and port replaced; ``build_command`` writes both, each as two words."""
    endpoint = {"--host": host, "--port": str(port)}
    before = ("", *argv[:-1])
    return tuple(endpoint.get(flag, word) for flag, word in zip(before, argv, strict=True))
