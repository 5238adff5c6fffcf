"""The web page and the trade of its link's token for a cookie (L1). The page itself is a file."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Annotated, Any

from litestar import Request, Response, Router, get
from litestar.datastructures import Cookie
from litestar.params import QueryParameter
from litestar.response import Redirect

from bough.api.auth import Gate

PAGE = Path(__file__).parent / "page.html"
HTML = "text/html"
NOTHING = "'none'"
A_MONTH = 30 * 24 * 3600

# Whatever gets into a page from elsewhere is shown, never run: only what the file itself holds is, by its hash.
INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)
REST = "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
LOCKED = (
    "<!doctype html><meta charset=utf-8><title>Bough</title><style>p{font:16px system-ui;margin:3rem}</style>"
    "<p>Open the link that <code>bough serve</code> printed: it carries the token of this server."
)


def headers(page: str) -> dict[str, str]:
    """What a browser is told with a page: to run and show what is in it, and to talk to this server alone."""
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for kind, text in INLINE.findall(page):
        hashes[kind].append(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'")
    own = "; ".join(f"{kind}-src {' '.join(found) or NOTHING}" for kind, found in hashes.items())
    return {
        "content-security-policy": f"default-src 'none'; {own}; {REST}",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }


def router(gate: Gate) -> Router:
    """The routes of the page."""
    page = PAGE.read_text("utf-8")
    open_headers, locked_headers = headers(page), headers(LOCKED)

    @get("/", include_in_schema=False)
    async def index(
        request: Request[Any, Any, Any], token: Annotated[str | None, QueryParameter(name="token")] = None
    ) -> Response[Any]:
        if token is not None and gate.right_token(token):
            cookie = Cookie(
                key=gate.cookie_name(request.scope),
                value=gate.cookie_value,
                max_age=A_MONTH,
                httponly=True,
                samesite="strict",
            )
            return Redirect("/", status_code=303, cookies=[cookie])
        if request.scope["state"].get("caller") is None:
            return Response(LOCKED, status_code=401, media_type=HTML, headers=locked_headers)
        return Response(page, media_type=HTML, headers=open_headers)

    return Router("/", route_handlers=[index])
