"""``autotune init``: a first study file out of the machine, the model and the server of today."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from autotune.machine import Machine, look_at_machine
from autotune.starting.line import Setup
from autotune.starting.own_server import NoOwnServerError, OwnServer, from_command, from_model, from_url
from autotune.starting.space import space_lines
from autotune.starting.speculation import hint
from autotune.starting.study_text import FirstStudy
from trials.fingerprint import weight_sizes
from trials.model_facts import ModelFacts, model_folder
from trials.secrets import secrets_in
from trials.settings import ServerPlan

LEVELS = (1, 8, 32)
_GIB = 1 << 30


def find_own_server(
    cache: Path,
    *,
    command: str | None = None,
    url: str | None = None,
    model: str | None = None,
    draft: str | None = None,
    box: str | None = None,
) -> OwnServer:
    """The server of today, whatever says what it is; ``model`` and ``draft`` win over what it says.

    Raises:
        CatalogueError: If its program cannot be asked what it accepts.
        NoOwnServerError: If nothing names a model.
        SettingError: If the command has a flag that its server does not know.
    """
    if command is not None:
        found = from_command(command, cache, box)
    elif url is not None:
        found = from_url(url, cache, box)
    elif model is not None:
        found = from_model(model, cache, box)
    else:
        raise NoOwnServerError("say what to tune: --command 'sglang serve ...', --url http://... or --model")
    given = {"model_path": model, "draft_model_path": draft}
    changes = {key: value for key, value in given.items() if value is not None}
    return replace(found, plan=found.plan.model_copy(update=changes))


def first_study(own: OwnServer, machine: Machine | None = None) -> FirstStudy:
    """Write a study for it.

    Args:
        machine: Its cards; left out: those of this machine.

    Raises:
        GpuProbeError: If the cards do not answer.
    """
    plan = _with_words(own)
    machine = machine or look_at_machine(plan)
    settings = dict(own.words.settings)
    settings.setdefault("layout", f"tp{machine.count or 1}")
    setup = Setup(
        machine=machine,
        model=ModelFacts.read(plan.model_path),
        weights_gib=weights_gib(plan.model_path),
        draft=plan.draft_model_path,
        catalogue=own.catalogue,
        settings=settings,
        exact=own.exact,
        levels=LEVELS,
    )
    version = f", SGLang {own.catalogue.version}" if own.catalogue and own.catalogue.version else ""
    heading = [f"Written by autotune init on {date.today()} for {machine.words}{version}."]
    return FirstStudy(
        name=_study_name(plan.model_path),
        heading=[*heading, *(f"Note: {remark}." for remark in own.remarks)],
        server=plan,
        space=space_lines(setup),
        levels=LEVELS,
        hint=hint(setup),
    )


def write_study(study: FirstStudy, output: Path) -> None:
    """Write the file; with secrets in it nobody else may read it.

    Raises:
        FileExistsError: If there is such a file: it is never overwritten.
    """
    secret = bool(secrets_in(study.server.args, study.server.env))
    with output.open("x", encoding="utf-8") as file:
        if secret:
            output.chmod(0o600)
        file.write(study.text())


def weights_gib(model_path: str) -> float | None:
    """Size of a model's weight files, GiB; None when they are not on this machine."""
    folder = model_folder(model_path)
    if folder is None:
        return None
    return sum(weight_sizes(folder).values()) / _GIB or None


def _with_words(own: OwnServer) -> ServerPlan:
    env: Mapping[str, str] = own.words.env
    return own.plan.model_copy(update={"args": own.words.args, "env": env})


def _study_name(model_path: str) -> str:
    last = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(model_path).name).strip("-._").lower()
    return f"{last or 'model'}-night"
