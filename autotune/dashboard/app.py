"""The application: what is served where, and what becomes of errors."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from autotune.dashboard.access import Door, new_token
from autotune.dashboard.library import Library, NoSuchStudyError
from autotune.dashboard.pages import HERE, render
from autotune.dashboard.routes import entrance, events, export, health, pages, requests, studies, trials
from autotune.dashboard.security import Gate
from autotune.dashboard.watch import Watches
from db.errors import StudyFileError

_PLOTLY = Path(str(files("plotly") / "package_data" / "plotly.min.js"))
_WEEK_S = 604_800
_LONGEST_NAME = 80
_MOST_PROBLEMS = 5


def create_app(target: Path, door: Door | None = None) -> FastAPI:
    """The dashboard of a study file, or of a folder of studies.

    Args:
        door: Who may come in; left out, everybody on this machine may read and nobody may act.
    """
    library = Library(target)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(run_in_threadpool(library.read_newest))
        yield
        await warming
        library.close()

    app = FastAPI(
        title="autotune", openapi_url="/api/openapi.json", docs_url=None, redoc_url=None, lifespan=lifespan
    )
    app.state.library = library
    app.state.watches = Watches()
    app.state.door = door = door or Door(new_token())
    for resource in (studies, trials, export, requests, events, health, entrance, pages):
        app.include_router(resource.router)
    app.add_api_route("/static/plotly.min.js", _plotly, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    for kind in (HTTPException, StudyFileError, NoSuchStudyError):
        app.add_exception_handler(kind, _explain)
    app.add_exception_handler(RequestValidationError, _explain_input)
    app.add_middleware(Gate, door=door)
    return app


def _plotly(request: Request) -> Response:
    headers = {"Cache-Control": f"max-age={_WEEK_S}", "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return FileResponse(_PLOTLY, headers=headers)
    headers["Content-Encoding"] = "gzip"
    return Response(_packed_plotly(), media_type="text/javascript", headers=headers)


@cache
def _packed_plotly() -> bytes:
    """A third of its 4 MB: what counts over a tunnel or a phone."""
    return gzip.compress(_PLOTLY.read_bytes(), compresslevel=6)


def _explain(request: Request, error: Exception) -> Response:
    """One sentence, as JSON for programs and as a page for people."""
    status = _status(error)
    sentence = str(error.detail) if isinstance(error, HTTPException) else str(error)
    if sentence == "Not Found":
        sentence = f"there is nothing at {request.url.path}"
    if request.url.path.startswith("/api/"):
        return JSONResponse({"detail": sentence}, status_code=status)
    return render(request, "error.html", {"sentence": sentence, "status": status}, status)


def _explain_input(request: Request, error: Exception) -> Response:
    """What is wrong with an address or a body, in one sentence; a body is never sent back."""
    assert isinstance(error, RequestValidationError)
    if request.url.path.startswith("/api/"):
        problems = map(_problem, error.errors()[:_MOST_PROBLEMS])
        return JSONResponse({"detail": "; ".join(problems)}, status_code=422)
    first = error.errors()[0]
    name = next((part for part in reversed(first["loc"]) if isinstance(part, str)), "something")
    # What may be chosen is a list with commas; elsewhere the words after one are the parser's own.
    message = first["msg"] if first["type"] == "literal_error" else first["msg"].split(",")[0]
    wanted = message.replace("Input should", "it should")
    sentence = f"in the address {name} is {first['input']!r}; {wanted}"
    return render(request, "error.html", {"sentence": sentence, "status": 400}, 400)


def _problem(error: Mapping[str, Any]) -> str:
    if error["type"] == "union_tag_not_found":
        return f"{error['ctx']['discriminator']} is missing"
    if error["type"] == "union_tag_invalid":
        return f"{error['ctx']['discriminator']} should be one of {error['ctx']['expected_tags']}"
    # "body" or "query" itself says nothing, unless it is all that there is.
    where = ".".join(part for part in error["loc"][1:] if isinstance(part, str)) or error["loc"][0]
    # A key that somebody sent may be long, and need not be text that can be sent back.
    shown = where[:_LONGEST_NAME].encode("utf-8", "replace").decode()
    wanted = error["msg"].removeprefix("Value error, ").replace("Input should", "it should")
    return f"{shown}: {wanted}"


def _status(error: Exception) -> int:
    if isinstance(error, HTTPException):
        return error.status_code
    return 404 if isinstance(error, NoSuchStudyError) else 503
