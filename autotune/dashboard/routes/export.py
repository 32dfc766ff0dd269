"""The winner's launch command in every format."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Response

from autotune.dashboard.routes.shared import TheStudy
from autotune.dashboard.study_parts import exported
from autotune.export import FORMATS
from autotune.export.from_study import NothingToExportError

router = APIRouter(prefix="/api/studies/{name}/export", tags=["export"])

_DEFAULT = next(iter(FORMATS))


@router.get("", response_class=Response)
def export(source: TheStudy, format: str = _DEFAULT, level: int | None = None) -> Response:  # noqa: A002
    """The same text as ``autotune export`` writes."""
    chosen = FORMATS.get(format)
    if chosen is None:
        raise HTTPException(404, f"there is no format {format!r}; choose one of: {', '.join(FORMATS)}")
    try:
        text = exported(source, format, level)
    except NothingToExportError as error:
        raise HTTPException(404, str(error)) from error
    headers = {"Content-Disposition": f'inline; filename="{chosen.FILE_NAME}"'}
    return Response(text, media_type=f"{chosen.MEDIA_TYPE}; charset=utf-8", headers=headers)
