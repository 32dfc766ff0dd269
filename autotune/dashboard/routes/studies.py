"""Studies as JSON."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import BaseModel

from autotune.dashboard.routes.shared import TheLibrary, TheStudy, measured_level
from autotune.dashboard.study_json import best_json, study_json
from autotune.dashboard.summaries import all_summaries
from autotune.study_pictures import PictureError, PictureRequest, choices_json, draw

router = APIRouter(prefix="/api/studies", tags=["studies"])


class PictureQuery(BaseModel):
    """Which view of a picture; ``GET .../figures`` says what can be chosen."""

    level: int | None = None
    across: str | None = None
    up: str | None = None
    setting: str | None = None
    latency: str | None = None
    narrow: bool = False


@router.get("")
def list_studies(library: TheLibrary) -> list[dict[str, Any]]:
    """Every study, most recently changed first; one that cannot be read says why under ``trouble``."""
    return all_summaries(library)


@router.get("/{name}")
def show_study(source: TheStudy) -> dict[str, Any]:
    """State, plan, running trial, best, events, requests, notes."""
    return study_json(source.name, source.snapshot())


@router.get("/{name}/best")
def show_best(source: TheStudy, level: int | None = None) -> dict[str, Any]:
    """The verdict at a level; left out, the main one."""
    return best_json(source.snapshot(), measured_level(source, level))


@router.get("/{name}/figures")
def list_figures(source: TheStudy) -> dict[str, Any]:
    """The pictures of a study by name, with what can be chosen of each."""
    return source.lasting("choices", lambda study, _: choices_json(study))


@router.get("/{name}/figures/{figure}", response_class=Response)
def show_figure(source: TheStudy, figure: str, request: Annotated[PictureQuery, Query()]) -> Response:
    """A picture as ``{"title", "says", "data", "layout"}`` for Plotly, and its numbers as ``"table"``."""
    wanted = PictureRequest(**{**request.model_dump(), "level": measured_level(source, request.level)})
    try:
        body = source.lasting(
            ("figure", figure, wanted),
            lambda study, connection: json.dumps(draw(figure, study, connection, wanted)).encode(),
        )
    except PictureError as error:
        raise HTTPException(404, str(error)) from error
    return Response(body, media_type="application/json")
