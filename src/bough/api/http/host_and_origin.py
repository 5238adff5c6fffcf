"""Checks which host name a request names and which page it comes from: Host, Origin and Sec-Fetch-Site."""

from __future__ import annotations

from urllib.parse import urlsplit

import structlog
from litestar.types import Scope

from bough.errors import Denied

log = structlog.get_logger("bough.security")

# Methods that change nothing.
HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})
PORTS = {"http": 80, "https": 443}


def check_names(headers: dict[str, str], scheme: str, own_names: set[str]) -> None:
    """Raises Denied for a request to a host name that is not ours, or from another site's page."""
    host = headers.get("host", "")
    own_origin = _origin_of(f"{scheme}://{host}")
    if own_origin is None or own_origin[1] not in own_names:
        raise Denied(
            "foreign_host", f"This server does not accept the host name {host[:100]!r}; add it to allowed_hosts."
        )
    origin = headers.get("origin")
    if origin is not None and _origin_of(origin) != own_origin:
        log.warning("foreign_origin", origin=origin[:200], host=host)
        raise Denied("foreign_origin", f"Requests from the page {origin[:100]!r} are not accepted.")


def check_page(scope: Scope, headers: dict[str, str]) -> None:
    """Raises Denied for a change with a page key that does not come from our own page."""
    if scope["type"] == "http" and scope["method"] in HARMLESS:
        return
    if "origin" not in headers and headers.get("sec-fetch-site") != "same-origin":
        log.warning("no_origin", path=scope["path"][:200])
        raise Denied(
            "foreign_origin",
            "With a page key, changes need the page's `Origin`. Scripts must send the token instead.",
        )


def origin_text(scope: Scope, headers: dict[str, str] | None = None) -> str:
    """Returns the origin under which a request reached the server, such as `http://127.0.0.1:4100`."""
    host = (header_dict(scope) if headers is None else headers).get("host", "")
    origin = _origin_of(f"{request_scheme(scope)}://{host}")
    if origin is None:
        return ""
    scheme, name, port = origin
    return f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}"


def header_dict(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def request_scheme(scope: Scope) -> str:
    return {"ws": "http", "wss": "https"}.get(scope["scheme"], scope["scheme"])


def _origin_of(address: str) -> tuple[str, str, int] | None:
    """Returns scheme, host name and port, which form an origin; None if the address has anything else."""
    try:
        parts = urlsplit(address)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    if port is None or not parts.hostname or "@" in parts.netloc or parts.path or parts.query or parts.fragment:
        return None
    return parts.scheme, parts.hostname, port
