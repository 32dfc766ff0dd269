"""The pages: studies, a study, a trial, and trials or studies side by side."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from sqlalchemy import Connection

from autotune.dashboard.comparison import compared_studies, compared_trials
from autotune.dashboard.pages import render, rendered
from autotune.dashboard.routes.shared import (
    MayAct,
    TheLibrary,
    TheStudy,
    existing,
    measured_level,
)
from autotune.dashboard.routes.trials import TrialFilter, trial_lines
from autotune.dashboard.source import StudySource
from autotune.dashboard.study_json import study_summary_json
from autotune.dashboard.study_parts import study_context, table_version
from autotune.dashboard.summaries import all_summaries, summary_or_trouble
from autotune.dashboard.trial_parts import gpu_samples, log_page, trial_context
from autotune.dashboard.trial_table import PAGE_LINES, kinds_seen
from autotune.dashboard.wish_form import wish_fields
from autotune.liveness import run_state
from autotune.study_pictures import choices_json

router = APIRouter(include_in_schema=False)

_MOST_COMPARED = 8
_Compared = TypeVar("_Compared", str, int)


class TablePage(TrialFilter):
    """The trial table as a page shows it: newest first, ``page`` by ``page``."""

    descending: bool = True
    page: int = 1


@router.get("/")
def home(request: Request, library: TheLibrary) -> Response:
    """The list of studies; where there is only one, that study."""
    names = library.names()
    if len(names) == 1:
        return RedirectResponse(request.url_for("study_page", name=names[0]).path)
    return render(request, "studies.html", {"studies": all_summaries(library)})


@router.get("/compare")
def compare_studies_page(
    request: Request, library: TheLibrary, study: Annotated[list[str] | None, Query()] = None
) -> Response:
    """Studies side by side."""
    chosen = _side_by_side(study, "studies")
    summaries = [summary_or_trouble(library, name) for name in chosen]
    readable = [one for one in summaries if "trouble" not in one]
    return render(
        request,
        "compare_studies.html",
        {
            "studies": readable,
            "rows": compared_studies(readable),
            "troubles": [one["trouble"] for one in summaries if "trouble" in one],
        },
    )


@router.get("/studies/{name}")
def study_page(
    request: Request, source: TheStudy, may_act: MayAct, wanted: Annotated[TablePage, Query()]
) -> Response:
    level = measured_level(source, wanted.level)
    return render(
        request,
        "study.html",
        {
            **study_context(source, level, may_act=may_act),
            **_table(source, level, wanted),
            "pictures": source.lasting("choices", lambda study, _: choices_json(study)),
            "fields": wish_fields(source.snapshot().study) if may_act else (),
            "version": table_version(source),
        },
    )


@router.get("/studies/{name}/table")
def trials_table(source: TheStudy, wanted: Annotated[TablePage, Query()]) -> Response:
    """The table alone, for a page that is shown already: written once for all who ask after a change."""
    level = measured_level(source, wanted.level)
    state = run_state(source.snapshot().last_run).word

    def write(_: Connection) -> str:
        study = study_summary_json(source.name, source.snapshot(), level)
        return rendered("study/table.html", study=study, level=level, **_table(source, level, wanted))

    table = source.detail(("table", level, state, wanted.model_dump_json()), write)
    return HTMLResponse(table, headers={"Cache-Control": "no-store"})


@router.get("/studies/{name}/trials/{number}")
def trial_page(
    request: Request,
    source: TheStudy,
    number: int,
    may_act: MayAct,
    end: int | None = None,
    line: int | None = None,
) -> Response:
    """A trial; ``end`` pages its log, ``line`` opens it at a line."""
    context: dict[str, Any] = existing(trial_context(source, number, may_act=may_act), number)
    return render(
        request,
        "trial.html",
        {
            **context,
            "log": log_page(source, number, end, line),
            "line": line,
            "is_newest": end is None and line is None,
            "has_gpu_samples": bool(gpu_samples(source, number)),
        },
    )


@router.get("/studies/{name}/compare")
def compare_trials_page(
    request: Request, source: TheStudy, trial: Annotated[list[int] | None, Query()] = None
) -> Response:
    """Trials of a study side by side."""
    chosen = _side_by_side(trial, "trials")
    contexts = [existing(trial_context(source, number, may_act=False), number) for number in chosen]
    return render(
        request,
        "compare_trials.html",
        {
            "study": study_summary_json(source.name, source.snapshot()),
            "trials": [context["trial"] for context in contexts],
            "tables": compared_trials([context["trial"] for context in contexts]),
        },
    )


def _side_by_side(asked: list[_Compared] | None, things: str) -> list[_Compared]:
    """Each of what is to be compared, once.

    Raises:
        HTTPException: 400 when they are too many.
    """
    chosen = list(dict.fromkeys(asked or ()))
    if len(chosen) > _MOST_COMPARED:
        raise HTTPException(400, f"{_MOST_COMPARED} {things} at most can stand side by side")
    return chosen


def _table(source: StudySource, level: int, wanted: TablePage) -> dict[str, Any]:
    lines = trial_lines(source, level)
    query = wanted.query
    chosen = query.select(lines)
    pages = max(1, -(-len(chosen) // PAGE_LINES))
    page = min(max(1, wanted.page), pages)
    asked = wanted.model_dump(exclude_defaults=True, exclude={"offset", "limit"})

    def address(**changed: Any) -> str:
        """The page's address with something changed; None takes it out."""
        kept = {key: value for key, value in {**asked, **changed}.items() if value not in (None, "")}
        return "?" + urlencode({key: str(value) for key, value in kept.items()})

    return {
        "trials": [line.data for line in chosen[(page - 1) * PAGE_LINES : page * PAGE_LINES]],
        "query": query,
        "total": len(lines),
        "matching": len(chosen),
        "page": page,
        "page_count": pages,
        "kinds": source.lasting(("kinds", level), lambda _, __: kinds_seen(lines)),
        "address": address,
    }
