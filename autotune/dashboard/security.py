"""What stands in front of every route: names, origins, the token, and headers that keep a browser tame."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from autotune.dashboard.access import Door, is_same_origin
from autotune.dashboard.pages import render

_CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        # Plotly writes its own style sheet and style attributes.
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": _CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
TOKEN_PATH = "/token"
_OPEN_PATHS = ("/healthz", TOKEN_PATH)
_MONTH_S = 30 * 86_400
_LONGEST_BODY = 65_536


class Gate:
    """Lets a request through to the application, or answers it itself. Bodies are counted, never read."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        stale: list[str] = []
        refusal = self._refusal(request, stale)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                for name in stale:
                    headers.append("Set-Cookie", f"{name}=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict")
            await send(message)

        await (refusal or self._app)(scope, _no_more_than(receive, _LONGEST_BODY), send_with_headers)

    def _refusal(self, request: Request, stale: list[str]) -> Response | None:
        host = request.headers.get("host", "")
        if not self._door.answers_to(host):
            return _said(request, 400, f"this page does not answer to the name {host!r}; use its address")
        if not _is_ours(request, host):
            return _said(request, 403, "this was asked for by another site")
        offered = request.query_params.get("token")
        if offered is not None and request.method == "GET":
            if not _may_carry_token(request):
                return _said(request, 403, "this was asked for by another site")
            return self.entrance(request, offered, _without_token(request))
        known = self._knows(request, stale)
        request.state.may_act = known
        if known or not self._is_needed(request):
            return None
        if self._door.is_shut(address_of(request)):
            return _too_often(request)
        return _said(request, 401, "this needs the token: open the link that autotune printed")

    def entrance(self, request: Request, offered: str, target: str) -> Response:
        """Take the token into a cookie and go on, or say that it is wrong."""
        return enter(self._door, request, offered, target)

    def _knows(self, request: Request, stale: list[str]) -> bool:
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._door.knows(bearer.strip(), address_of(request))
        name = cookie_name(request)
        kept = request.cookies.get(name)
        known = self._door.knows(kept, address_of(request))
        if kept is not None and not known and not self._door.is_shut(address_of(request)):
            # Most often the cookie of an earlier dashboard: it must not count as a wrong try again.
            stale.append(name)
        return known

    def _is_needed(self, request: Request) -> bool:
        path = request.url.path
        if path in _OPEN_PATHS or path.startswith("/static/"):
            return False
        return request.method not in _SAFE_METHODS or not self._door.reading_is_free


def _no_more_than(receive: Receive, most: int) -> Receive:
    """Reading a body breaks off where it gets too long, whatever length its headers tell."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise HTTPException(413, f"the request is too long; send at most {most // 1024} KiB")
        return message

    return counted


def enter(door: Door, request: Request, offered: str, target: str) -> Response:
    """Answer a token: the cookie and the way on, or a refusal."""
    address = address_of(request)
    if door.is_shut(address) or not door.knows(offered, address):
        if door.is_shut(address):
            return _too_often(request)
        return _said(request, 401, "this token is wrong or belongs to an earlier dashboard")
    # No redirect: a browser that came from another site would not send a strict cookie along with it.
    going_on = (
        '<!doctype html><html lang="en"><title>autotune</title><link rel="icon" href="data:,">'
        f'<meta http-equiv="refresh" content="0;url={escape(target)}">'
        f'<p><a href="{escape(target)}">Go on to the page</a></p></html>'
    )
    response = HTMLResponse(going_on, headers={"Cache-Control": "no-store"})
    response.set_cookie(
        cookie_name(request),
        offered,
        max_age=_MONTH_S,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


def cookie_name(request: Request) -> str:
    """Cookies do not know ports: each dashboard of a machine needs a name of its own."""
    server: Any = request.scope.get("server") or ("", 0)
    return f"autotune-{server[1]}"


def address_of(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def _is_ours(request: Request, host: str) -> bool:
    """Whatever changes something was asked for by a page of ours, or by a program that has no origin."""
    if request.method in _SAFE_METHODS:
        return True
    origin = request.headers.get("origin")
    if origin is not None:
        return is_same_origin(origin, host)
    return not _is_from_elsewhere(request)


def _may_carry_token(request: Request) -> bool:
    """A link in a mail opens the page; a picture or frame of another site only makes wrong tries."""
    fetch = (request.headers.get("sec-fetch-mode"), request.headers.get("sec-fetch-dest"))
    return fetch == ("navigate", "document") or not _is_from_elsewhere(request)


def _is_from_elsewhere(request: Request) -> bool:
    return request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def _without_token(request: Request) -> str:
    kept = request.url.remove_query_params("token")
    # Two slashes at the front would lead to another machine.
    return "/" + kept.path.lstrip("/") + (f"?{kept.query}" if kept.query else "")


def _too_often(request: Request) -> Response:
    return _said(request, 429, "too many wrong tokens; wait a minute")


def _said(request: Request, status: int, sentence: str) -> Response:
    if request.url.path.startswith("/api/") or request.method not in _SAFE_METHODS:
        return JSONResponse({"detail": sentence}, status_code=status)
    request.state.may_act = False
    return render(request, "error.html", {"sentence": sentence, "status": status}, status)
