"""The two pages, and the list of studies in front of them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from autotune.dashboard.pages import render
from autotune.dashboard.routes.export import exported_text
from autotune.dashboard.routes.shared import TheLibrary, TheStudy, existing
from autotune.dashboard.routes.studies import summary_or_trouble
from autotune.dashboard.routes.trials import gpu_samples, log_page, trial_detail
from autotune.dashboard.source import StudySource
from autotune.dashboard.study_json import study_json, study_summary_json
from autotune.dashboard.trial_json import trials_json
from autotune.export import FORMATS

router = APIRouter(include_in_schema=False)


@router.get("/")
def home(request: Request, library: TheLibrary) -> Response:
    """The list of studies; where there is only one, that study."""
    names = library.names()
    if len(names) == 1:
        return RedirectResponse(request.url_for("study_page", name=names[0]).path)
    studies = [summary_or_trouble(library, name) for name in names]
    return render(request, "studies.html", {"studies": studies})


@router.get("/studies/{name}")
def study_page(request: Request, source: TheStudy) -> Response:
    snapshot = source.snapshot()
    return render(
        request,
        "study.html",
        {
            "study": study_json(source.name, snapshot),
            "trials": source.detail("trials", lambda _: trials_json(snapshot)),
            "command": _command(source),
            "formats": FORMATS,
        },
    )


@router.get("/studies/{name}/trials/{number}")
def trial_page(request: Request, source: TheStudy, number: int, end: int | None = None) -> Response:
    """A trial; ``end`` pages its log."""
    trial: dict[str, Any] = existing(trial_detail(source, number), number)
    return render(
        request,
        "trial.html",
        {
            "study": study_summary_json(source.name, source.snapshot()),
            "trial": trial,
            "log": log_page(source, number, end),
            "has_gpu_samples": bool(gpu_samples(source, number)),
        },
    )


def _command(source: StudySource) -> str | None:
    try:
        return exported_text(source, next(iter(FORMATS)))
    except HTTPException:
        return None
