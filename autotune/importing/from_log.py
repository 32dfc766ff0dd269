"""One boot out of a server's log: its settings, and its result or its failure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autotune.importing.imported import Imported, SourceError
from autotune.importing.target import Target
from autotune.search import SpaceError
from db.imports import ImportedBoot
from trials.failures.diagnose import conclude
from trials.failures.files import LogError, read_log
from trials.outcome import Failure
from trials.secrets import is_secret_name, redact_text
from trials.settings import Settings, SettingValue
from trials.settings_back import settings_said


def from_log(
    path: Path,
    target: Target,
    *,
    tok_s: float | None,
    same_machine: bool,
    told: Mapping[str, SettingValue],
) -> Imported:
    """Read a log.

    Args:
        tok_s: What the server reached at the study's main level, tok/s; a log does not say so itself.
        same_machine: The log is of this study's cards and SGLang, which it does not say itself either.
        told: Settings that the log does not show, such as variables.

    Raises:
        SourceError: If it says nothing that this study could use.
    """
    try:
        reading = read_log(path)
    except LogError as error:
        raise SourceError(str(error)) from error
    args = reading.log.server_args
    if not args:
        raise SourceError(f"{path}: no server_args line, so its settings are not known")
    settings = _settings(path, args, target, told)
    boot = conclude(reading, settings=settings)
    failure = boot.failure
    if tok_s is None and failure is None:
        raise SourceError(f"{path}: the server worked; say what it reached with --tok-per-s")
    if tok_s is not None and not reading.log.ready:
        raise SourceError(f"{path}: the server was never ready, so it cannot have reached {tok_s:g} tok/s")
    if tok_s is None and failure is not None and failure.at_fault != "settings":
        raise SourceError(f"{path}: its settings are not to blame ({failure.summary})")
    reasons = tuple(_reasons(args, target, same_machine))
    if tok_s is None and reasons:
        raise SourceError(f"{path}: a failure elsewhere says nothing certain here ({'; '.join(reasons)})")
    crashed = failure if tok_s is None else None
    taken = ImportedBoot(
        source=str(path),
        same=not reasons,
        settings=settings,
        value=tok_s,
        failure=_without_secrets(crashed, args) if crashed else None,
        boot=boot.boot.model_dump(mode="json"),
    )
    return Imported(str(path), [taken], reasons, ())


def _without_secrets(failure: Failure, args: Mapping[str, Any]) -> dict[str, Any]:
    """The evidence quotes the log, and the log holds what the server was given."""
    secrets = [str(value) for name, value in args.items() if value and is_secret_name(name)]
    plain: dict[str, Any] = json.loads(redact_text(json.dumps(failure.model_dump(mode="json")), secrets))
    return plain


def _settings(
    path: Path, args: Mapping[str, Any], target: Target, told: Mapping[str, SettingValue]
) -> Settings:
    said = settings_said(args, target.space.parameters)
    for name in said.keys() & told.keys():
        raise SourceError(f"{path}: --set {name} is not needed: the log says {name} = {said[name]}")
    try:
        target.space.check(told, where="--set")
        return target.fitting({**said, **told})
    except SpaceError as error:
        hint = "" if error.setting in {**said, **told} else f"; give it with --set {error.setting}=VALUE"
        raise SourceError(f"{path}: {error}{hint}") from error


def _reasons(args: Mapping[str, Any], target: Target, same_machine: bool) -> list[str]:
    reasons = []
    if args.get("model_path") != target.server.model_path:
        reasons.append(f"model: {args.get('model_path')} there, {target.server.model_path} here")
    if not same_machine:
        reasons.append("a log does not name its cards; add --same-machine if they and its SGLang are these")
    return reasons
