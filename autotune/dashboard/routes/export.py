"""The winner's launch command in every format."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Response

from autotune.dashboard.routes.shared import TheStudy
from autotune.dashboard.source import StudySource
from autotune.export import FORMATS
from autotune.export.from_study import NothingToExportError, winner

router = APIRouter(prefix="/api/studies/{name}/export", tags=["export"])

_DEFAULT = next(iter(FORMATS))


@router.get("", response_class=Response)
def export(source: TheStudy, format: str = _DEFAULT, level: int | None = None) -> Response:  # noqa: A002
    """The same text as ``autotune export`` writes."""
    written = exported_text(source, format, level)
    chosen = FORMATS[format]
    headers = {"Content-Disposition": f'inline; filename="{chosen.FILE_NAME}"'}
    return Response(written, media_type=f"{chosen.MEDIA_TYPE}; charset=utf-8", headers=headers)


def exported_text(source: StudySource, format_name: str, level: int | None = None) -> str:
    """The winner's command in a format.

    Raises:
        HTTPException: 404 for an unknown format, an unmeasured level, or a study without a winner.
    """
    chosen = FORMATS.get(format_name)
    if chosen is None:
        raise HTTPException(404, f"there is no format {format_name!r}; choose one of: {', '.join(FORMATS)}")
    study = source.snapshot().study
    try:
        return source.detail(
            ("export", format_name, level), lambda connection: chosen.write(winner(connection, study, level))
        )
    except NothingToExportError as error:
        raise HTTPException(404, str(error)) from error
