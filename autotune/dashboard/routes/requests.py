"""What a reader may ask of a night, behind the token. Nothing here runs anything: only a runner acts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal
from unicodedata import category

from fastapi import APIRouter, Body, HTTPException
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from autotune.dashboard.routes.shared import TheStudy
from autotune.dashboard.source import StudySource
from autotune.liveness import run_state
from autotune.wishes import refusal
from db import inbox
from db.errors import StudyFileError
from trials.rules import rules_for
from trials.settings import Settings, SettingValue

router = APIRouter(prefix="/api/studies/{name}/requests", tags=["requests"])

_LONGEST_NOTE = 4000
_HIGHEST_TRIAL = 2**31 - 1
_BIDI_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LINE_CONTROLS = frozenset("\n\t")

TrialNumber = Annotated[int, Field(strict=True, ge=0, le=_HIGHEST_TRIAL)]


def _readable(text: str) -> str:
    kept = "".join(one for one in text if not _disturbs(one)).strip()
    if not any(one.isprintable() and not one.isspace() for one in kept):
        raise ValueError("the note is empty; write at least one word")
    return kept


def _disturbs(character: str) -> bool:
    """Overrides could make the words around a note read backwards."""
    if character in _LINE_CONTROLS:
        return False
    return category(character) == "Cc" or character in _BIDI_OVERRIDES


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Stop(_Asked):
    """End the night: after the running trial, or at once (the trial counts as interrupted)."""

    kind: Literal["stop_after_trial", "stop_now"]


class TrySettings(_Asked):
    """Run these settings next; conditional ones that do not apply are left out."""

    kind: Literal["try_settings"]
    settings: dict[str, SettingValue]


class PinBaseline(_Asked):
    """Make a trial the one that everything is compared with."""

    kind: Literal["pin_baseline"]
    trial: TrialNumber


class Note(_Asked):
    """Remember something about a trial, or about the study."""

    kind: Literal["note"]
    text: Annotated[str, Field(max_length=_LONGEST_NOTE), AfterValidator(_readable)]
    trial: TrialNumber | None = None


AnyRequest = Annotated[Stop | TrySettings | PinBaseline | Note, Body(discriminator="kind")]


@router.get("")
def list_requests(source: TheStudy) -> list[dict[str, Any]]:
    """The newest requests, oldest first, each with what came of it; ``done_at`` is null while it waits."""
    return [asdict(request) for request in source.snapshot().requests]


@router.post("", status_code=202)
def ask(source: TheStudy, asked: AnyRequest) -> dict[str, str]:
    """Put a request into the study's inbox; needs the token."""
    try:
        return {"sentence": _put(source, asked)}
    except StudyFileError as error:
        # Where the file lies on the server is no business of a browser.
        raise HTTPException(409, str(error).removeprefix(f"{source.path}: ")) from error


def _put(source: StudySource, asked: Stop | TrySettings | PinBaseline | Note) -> str:
    if isinstance(asked, TrySettings):
        return _try(source, asked.settings)
    if isinstance(asked, PinBaseline):
        inbox.pin_baseline(source.path, asked.trial)
        return f"Trial {asked.trial} is the baseline from now on."
    if isinstance(asked, Note):
        inbox.add_note(source.path, asked.text, asked.trial)
        return "The note is kept."
    _require_runner(source)
    if asked.kind == "stop_now":
        inbox.stop_now(source.path)
        return "The night is asked to stop now."
    inbox.stop_after_trial(source.path)
    return "The night is asked to stop after the running trial."


def _require_runner(source: StudySource) -> None:
    """A stop that nobody heard would end the next run at its start."""
    state = run_state(source.snapshot().last_run)
    if not state.goes_on:
        raise HTTPException(409, f"there is nothing to stop: {state.sentence}")


def _try(source: StudySource, settings: Settings) -> str:
    snapshot = source.snapshot()
    study = snapshot.study
    active = study.space.active(settings)
    tried = {trial.asked: trial.number for trial in study.trials}
    rules = rules_for(study.server, len(study.card.gpus) or None)
    if sentence := refusal(active, tried, study.space, lambda one: rules(dict(one))):
        raise HTTPException(422, sentence)
    inbox.try_settings(source.path, study.space.check(active))
    if run_state(snapshot.last_run).goes_on:
        return "The settings are queued; the night tries them next."
    return "The settings are queued; the next run of this study tries them first."
