"""Trials as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import BaseModel, Field

from autotune.dashboard.logs import read_log_after, search_log
from autotune.dashboard.routes.shared import TheStudy, existing, measured_level
from autotune.dashboard.source import StudySource
from autotune.dashboard.trial_parts import gpu_samples, log_file, log_page, trial_detail
from autotune.dashboard.trial_table import Line, SortKey, TableQuery, TrialTable
from autotune.study_pictures import gpu_picture

router = APIRouter(prefix="/api/studies/{name}/trials", tags=["trials"])


class TrialFilter(BaseModel):
    """Which trials, and in which order."""

    level: int | None = None
    outcome: str | None = None
    kind: str | None = None
    role: str | None = None
    setting: str | None = Field(None, description="NAME=VALUE, or NAME alone")
    text: str | None = Field(None, description="words that must all occur")
    sort: SortKey = "number"
    descending: bool = False
    offset: int = Field(0, ge=0)
    limit: int | None = Field(None, ge=1)

    @property
    def query(self) -> TableQuery:
        return TableQuery(**self.model_dump(include=set(TableQuery.__dataclass_fields__)))


@router.get("", response_class=Response)
def list_trials(source: TheStudy, wanted: Annotated[TrialFilter, Query()]) -> Response:
    """Every trial that began, in order; the header X-Total-Count says how many match before the cut."""
    chosen = wanted.query.select(trial_lines(source, measured_level(source, wanted.level)))
    end = None if wanted.limit is None else wanted.offset + wanted.limit
    body = b"[" + b",".join(line.encoded for line in chosen[wanted.offset : end]) + b"]"
    return Response(body, media_type="application/json", headers={"X-Total-Count": str(len(chosen))})


@router.get("/{number}")
def show_trial(source: TheStudy, number: int) -> dict[str, Any]:
    """All that is known about a trial."""
    return existing(trial_detail(source, number), number)


@router.get("/{number}/gpus")
def show_gpus(source: TheStudy, number: int) -> list[dict[str, Any]]:
    """GPU samples of a trial, oldest first."""
    existing(trial_detail(source, number), number)
    return [asdict(sample) for sample in gpu_samples(source, number)]


@router.get("/{number}/figures/gpus")
def draw_gpus(source: TheStudy, number: int) -> dict[str, Any]:
    """GPU memory and power of a trial as a Plotly figure with its table."""
    snapshot = source.snapshot()
    row = snapshot.row(number)
    if row is None:
        raise HTTPException(404, f"the study has no trial {number}")
    return gpu_picture(gpu_samples(source, number), row, simulated=snapshot.study.card.simulated)


@router.get("/{number}/log")
def show_log(
    source: TheStudy,
    number: int,
    end: int | None = None,
    line: int | None = None,
    after: int | None = None,
) -> dict[str, Any]:
    """A page of the server's log: before byte ``end``, around ``line``, or from byte ``after`` on.

    Left out, its last page.
    """
    if after is not None:
        path = log_file(source, number)
        page = read_log_after(path, after) if path else None
    else:
        page = log_page(source, number, end, line)
    if page is None:
        raise HTTPException(404, f"trial {number} has no log")
    return asdict(page)


@router.get("/{number}/log/search")
def search(
    source: TheStudy, number: int, text: Annotated[str, Query(min_length=2, max_length=200)]
) -> list[dict[str, Any]]:
    """Lines that hold a text, whatever its case, with their numbers; the first 200."""
    path = log_file(source, number)
    if path is None:
        raise HTTPException(404, f"trial {number} has no log")
    return [asdict(hit) for hit in search_log(path, text)]


def trial_lines(source: StudySource, level: int) -> list[Line]:
    """All lines of the trial table, in order."""
    table = source.workshop(("table", level), lambda: TrialTable(level))
    return source.lasting(("lines", level), lambda study, _: table.lines(study))
