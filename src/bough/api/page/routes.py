"""The web page (L1): its files, the trade of its link's token for a cookie, and which addresses are its own. What the
page does in a browser is `web/` at the top of the repository; `npm run build` puts it beside this package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, urlencode

from litestar import Request, Response, Router, get
from litestar.datastructures import Cookie
from litestar.exceptions import NotFoundException
from litestar.params import QueryParameter
from litestar.response import Redirect
from litestar.types import Scope

from bough.api.http import static_pages
from bough.api.http.auth import Gate
from bough.api.page.assets import HASHED, IDENTITY, INDEX, Built, File

BUILT = Path(__file__).parents[2] / "web"
A_MONTH = 30 * 24 * 3600
# The first part of every address that is another door's; what is not built is not the page's either.
OTHERS = frozenset({"api", "mcp", "acp", "metrics", "docs", "openapi", "assets"})
# What a browser says of those who follow a link from another site.
ELSEWHERE = frozenset({"cross-site", "same-site"})

# Whatever gets into the page from elsewhere is shown, never run: only what was built is, and it talks to us alone.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "style-src-attr 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
PAGE_HEADERS = {"content-security-policy": POLICY, **static_pages.ALWAYS}
# A name with a hash in it never means anything else; any other is asked about each time, and mostly not sent again.
FOR_EVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"


def asks_for_the_page(scope: Scope) -> bool:
    """Whether a person opens an address of the page: `/`, or any that is no other door's nor a file's. The page itself
    says which of them lead somewhere. Programs, which do not ask for HTML, are told that there is no such route."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
        return False
    path = scope["path"]
    if path == "/":
        return True
    first, *more = path[1:].split("/")
    if not first or first in OTHERS or (not more and "." in first):
        return False
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


def router(gate: Gate, folder: Path) -> Router:
    """The routes of the page that was built into `folder`, or will be."""
    built = Built(folder)

    # The middleware brings every address of the page here, and leaves the one that was asked for in the state.
    @get("/", include_in_schema=False)
    async def index(
        request: Request[Any, Any, Any], token: Annotated[str | None, QueryParameter(name="token")] = None
    ) -> Response[Any]:
        if token is not None and gate.right_token(token):
            return Redirect(_address(request), status_code=303, cookies=[_cookie(gate, request)])
        if request.scope["state"].get("caller") is None:
            return _locked(request)
        page = built.find(INDEX)
        if page is None:
            return _standing(static_pages.MISSING)
        return _answer(request, page, PAGE_HEADERS)

    # Under the names that there are now: those of the others change with each build.
    @get([f"{HASHED}{{name:path}}", *built.beside()], include_in_schema=False)
    async def file(request: Request[Any, Any, Any]) -> Response[Any]:
        path = request.scope["path"]
        found = built.find(path)
        if found is None:
            raise NotFoundException
        caching = FOR_EVER if path.startswith(HASHED) else ASK_AGAIN
        return _answer(request, found, {"cache-control": caching, "etag": f'"{found.tag}"'})

    return Router("/", route_handlers=[index, file])


def _answer(request: Request[Any, Any, Any], file: File, headers: dict[str, str]) -> Response[Any]:
    headers = {**headers, "vary": "accept-encoding"}
    if file.tag in request.headers.get("if-none-match", "") and "etag" in headers:
        return Response(None, status_code=304, headers=headers)
    encoding = file.best(request.headers.get("accept-encoding", ""))
    if encoding != IDENTITY:
        headers["content-encoding"] = encoding
    return Response(file.forms[encoding], media_type=file.kind, headers=headers)


def _locked(request: Request[Any, Any, Any]) -> Response[Any]:
    """Browsers keep our cookie to themselves when a link from elsewhere leads here; asked again by a page of our own,
    they send it if they have it."""
    if request.headers.get("sec-fetch-site") in ELSEWHERE:
        return _standing(static_pages.again(_address(request)))
    return _standing(static_pages.LOCKED, 401)


def _standing(text: str, status: int = 200) -> Response[str]:
    return Response(text, status_code=status, media_type=static_pages.HTML, headers=static_pages.headers(text))


def _address(request: Request[Any, Any, Any]) -> str:
    """What was asked for, on this server and without the token."""
    # Two slashes at the beginning would lead to another one.
    path = "/" + quote(request.scope["state"].get("page", "/"), errors="replace").lstrip("/")
    asked = request.scope["query_string"].decode("latin-1")
    query = urlencode([(name, value) for name, value in parse_qsl(asked, keep_blank_values=True) if name != "token"])
    return f"{path}?{query}" if query else path


def _cookie(gate: Gate, request: Request[Any, Any, Any]) -> Cookie:
    return Cookie(
        key=gate.cookie_name(request.scope),
        value=gate.cookie_value,
        max_age=A_MONTH,
        httponly=True,
        samesite="strict",
    )
