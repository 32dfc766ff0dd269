"""Where a reader who has no cookie yet gives the token."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import APIRouter, HTTPException, Request, Response

from autotune.dashboard.access import Door
from autotune.dashboard.security import TOKEN_PATH, enter

router = APIRouter(include_in_schema=False)

_LONGEST_BODY = 1000


@router.post(TOKEN_PATH)
async def give_token(request: Request) -> Response:
    if int(request.headers.get("content-length", _LONGEST_BODY + 1)) > _LONGEST_BODY:
        raise HTTPException(413, "a token is shorter than that")
    form = parse_qs((await request.body()).decode("utf-8", errors="replace"))
    door: Door = request.app.state.door
    return enter(door, request, form.get("token", [""])[0].strip(), "/")
