"""Serves the web page's files, exchanges the link's token for a ticket and a cookie, and decides which addresses are
the page's."""

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

from bough.api.http import built_in_pages
from bough.api.http.auth import RequestGate
from bough.api.http.host_and_origin import origin_text
from bough.api.http.server_parts import parts_of
from bough.api.page.assets import HASHED, IDENTITY, INDEX, BuiltPage, PageFile
from bough.core.access.page_keys import LIFETIME

BUILT = Path(__file__).parents[2] / "web"
# The first parts of addresses that belong to other doors, or to built files.
OTHERS = frozenset({"api", "mcp", "acp", "metrics", "docs", "openapi", "assets"})
# Built-in pages without data.
STATIC_PAGES = frozenset({"/docs"})
# Marks the route of built files whose names the table of roles cannot know.
PAGE_FILE = "page_file"
# The page's one request that its cookie authenticates, together with a ticket.
REDEEM = "/sign-in"
# The values of Sec-Fetch-Site for links from other sites.
ELSEWHERE = frozenset({"cross-site", "same-site"})

# Only built scripts and styles run, never injected ones, and the page connects only to this server.
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
PAGE_HEADERS = {"content-security-policy": POLICY, **built_in_pages.ALWAYS}
# A file with a hash in its name never changes; browsers revalidate all others each time.
FOREVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"


def is_page_request(scope: Scope) -> bool:
    """Returns whether a browser requests an address of the page: `/`, or any address that belongs to no other door and
    no file. Programs do not accept HTML, so they get a 404 for unknown addresses."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
        return False
    path = scope["path"]
    if path == "/":
        return True
    first, *more = path[1:].split("/")
    if not first or first in OTHERS or (not more and "." in first):
        return False
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


def opened_by_cookie(scope: Scope) -> bool:
    """Returns whether an address opens for a signed-in browser's cookie: files of the page, and the exchange of a
    ticket for a key. Every port of a host gets the cookie, so it opens nothing else."""
    if scope["type"] != "http":
        return False
    path = scope["path"]
    if scope["method"] not in ("GET", "HEAD"):
        return scope["method"] == "POST" and path == REDEEM
    first, *more = path[1:].split("/")
    return path.startswith(HASHED) or path in STATIC_PAGES or (not more and "." in first and first != "openapi.json")


def router(folder: Path) -> Router:
    """Returns the routes of the page in `folder`, which may be built later."""
    built = BuiltPage(folder)

    # The middleware routes every address of the page here and stores the requested one in the state.
    @get("/", include_in_schema=False)
    async def index(
        request: Request[Any, Any, Any], token: Annotated[str | None, QueryParameter(name="token")] = None
    ) -> Response[Any]:
        gate = parts_of(request).gate
        page = built.find(INDEX)
        if token is not None and (granted := gate.by_token(token, "page")) is not None:
            if page is None:
                # Only the page can redeem a ticket, so the link stays as it is until there is one.
                return _static(built_in_pages.unbuilt(built.unbuilt()))
            return _signed_in(gate, request, granted.token_id)
        if request.scope["state"].get("grant") is None and not gate.has_page_cookie(request.scope):
            return _locked(request)
        if page is None:
            return _static(built_in_pages.unbuilt(built.unbuilt()))
        return _answer(request, page, _page_headers(parts_of(request).services.previews.port))

    # Files without a hash are registered under their current names; hashed names change with each build.
    @get([f"{HASHED}{{name:path}}", *built.unhashed_paths()], include_in_schema=False, opt={PAGE_FILE: True})
    async def file(request: Request[Any, Any, Any]) -> Response[Any]:
        path = request.scope["path"]
        asset = built.find(path)
        if asset is None:
            raise NotFoundException
        caching = FOREVER if path.startswith(HASHED) else ASK_AGAIN
        return _answer(request, asset, {"cache-control": caching, "etag": f'"{asset.tag}"'})

    return Router("/", route_handlers=[index, file])


def _page_headers(preview_port: int | None) -> dict[str, str]:
    """Returns the headers of the page. It may show previews in frames, which have host names of their own."""
    if preview_port is None:
        return PAGE_HEADERS
    policy = f"{POLICY}; frame-src http://*.localhost:{preview_port}"
    return PAGE_HEADERS | {"content-security-policy": policy}


def _answer(request: Request[Any, Any, Any], file: PageFile, headers: dict[str, str]) -> Response[Any]:
    headers = {**headers, "vary": "accept-encoding"}
    if file.tag in request.headers.get("if-none-match", "") and "etag" in headers:
        return Response(None, status_code=304, headers=headers)
    encoding = file.best(request.headers.get("accept-encoding", ""))
    if encoding != IDENTITY:
        headers["content-encoding"] = encoding
    return Response(file.forms[encoding], media_type=file.kind, headers=headers)


def _locked(request: Request[Any, Any, Any]) -> Response[Any]:
    """Returns the locked page. Browsers omit our cookie when a link on another site leads here, so such a request gets
    a page that reloads the address."""
    if request.headers.get("sec-fetch-site") in ELSEWHERE:
        return _static(built_in_pages.reload_page(_address(request)))
    return _static(built_in_pages.LOCKED, 401)


def _static(text: str, status: int = 200) -> Response[str]:
    return Response(text, status_code=status, media_type=built_in_pages.HTML, headers=built_in_pages.headers(text))


def _address(request: Request[Any, Any, Any]) -> str:
    """Returns the requested path and query without the token."""
    # Two leading slashes would lead to another server.
    path = "/" + quote(request.scope["state"].get("page", "/"), errors="replace").lstrip("/")
    query_text = request.scope["query_string"].decode("latin-1")
    query = urlencode(
        [(name, value) for name, value in parse_qsl(query_text, keep_blank_values=True) if name != "token"]
    )
    return f"{path}?{query}" if query else path


def _signed_in(gate: RequestGate, request: Request[Any, Any, Any], token_id: str | None) -> Response[Any]:
    """Leads to the page with a ticket in the fragment, which browsers send to no server; the page redeems it."""
    assert gate.page_keys is not None
    origin = origin_text(request.scope)
    issued = gate.page_keys.sign_in(origin, token_id)
    cookie = Cookie(
        key=gate.cookie_name(request.scope),
        value=issued.cookie,
        max_age=LIFETIME,
        httponly=True,
        samesite="strict",
        secure=origin.startswith("https:"),
    )
    return Redirect(f"{_address(request)}#ticket={issued.ticket}", status_code=303, cookies=[cookie])
