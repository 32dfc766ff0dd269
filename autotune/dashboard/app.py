"""The application: what is served where, and what becomes of errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from starlette.staticfiles import StaticFiles

from autotune.dashboard.library import Library, NoSuchStudyError
from autotune.dashboard.pages import HERE, render
from autotune.dashboard.routes import events, export, health, pages, studies, trials
from autotune.dashboard.security import secure
from db.errors import StudyFileError

_PLOTLY = Path(str(files("plotly") / "package_data" / "plotly.min.js"))
_WEEK_S = 604_800


def create_app(target: Path, *, host: str = "127.0.0.1") -> FastAPI:
    """The dashboard of a study file, or of a folder of studies.

    Args:
        host: Address that it will listen on.
    """
    library = Library(target)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        library.close()

    app = FastAPI(
        title="autotune", openapi_url="/api/openapi.json", docs_url=None, redoc_url=None, lifespan=lifespan
    )
    app.state.library = library
    for resource in (studies, trials, export, events, health, pages):
        app.include_router(resource.router)
    app.add_api_route("/static/plotly.min.js", _plotly, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    for kind in (HTTPException, StudyFileError, NoSuchStudyError):
        app.add_exception_handler(kind, _explain)
    secure(app, host)
    return app


def _plotly() -> FileResponse:
    return FileResponse(_PLOTLY, headers={"Cache-Control": f"max-age={_WEEK_S}"})


def _explain(request: Request, error: Exception) -> Response:
    """One sentence, as JSON for programs and as a page for people."""
    status = _status(error)
    sentence = str(error.detail) if isinstance(error, HTTPException) else str(error)
    if request.url.path.startswith("/api/"):
        return JSONResponse({"detail": sentence}, status_code=status)
    return render(request, "error.html", {"sentence": sentence, "status": status}, status)


def _status(error: Exception) -> int:
    if isinstance(error, HTTPException):
        return error.status_code
    return 404 if isinstance(error, NoSuchStudyError) else 503
