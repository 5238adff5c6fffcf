"""The web page and the trade of its link's token for a cookie (L1). The page itself is a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from litestar import Request, Response, Router, get
from litestar.datastructures import Cookie
from litestar.params import QueryParameter
from litestar.response import Redirect

from bough.api.auth import Gate

PAGE = Path(__file__).parent / "page.html"
A_YEAR = 365 * 24 * 3600

# The page may run what is in it and talk to its own server, nothing else.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
LOCKED = (
    "<!doctype html><meta charset=utf-8><title>Bough</title><p style='font:16px system-ui;margin:3rem'>"
    "Open the link that <code>bough serve</code> printed: it carries the token of this server."
)


def router(gate: Gate) -> Router:
    """The routes of the page."""

    @get("/", include_in_schema=False)
    async def index(
        request: Request[Any, Any, Any], token: Annotated[str | None, QueryParameter(name="token")] = None
    ) -> Response[Any]:
        if token is not None and gate.right_token(token):
            cookie = Cookie(
                key=gate.cookie_name(request.scope),
                value=gate.cookie_value,
                max_age=A_YEAR,
                httponly=True,
                samesite="strict",
            )
            return Redirect("/", status_code=303, cookies=[cookie])
        headers = {"content-security-policy": POLICY, "referrer-policy": "no-referrer", "cache-control": "no-store"}
        if request.scope["state"].get("caller") is None:
            return Response(LOCKED, status_code=401, media_type="text/html; charset=utf-8", headers=headers)
        return Response(PAGE.read_bytes(), media_type="text/html; charset=utf-8", headers=headers)

    return Router("/", route_handlers=[index])
