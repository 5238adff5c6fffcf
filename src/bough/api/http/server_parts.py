"""Holds the parts of the server that routes need. Every request carries it, so that routes know no server and
one application serves any number of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from litestar import Request
from litestar.types import Scope

from bough.api.http.auth import RequestGate
from bough.core.services import Services

KEY = "server"


def ignore_token(_token: str) -> None:
    """Tells nobody about a new token of the server."""


@dataclass(frozen=True)
class ServerParts:
    """A running server's services, its gate, and what tells commands where to find a new token of the server."""

    services: Services
    gate: RequestGate
    on_new_token: Callable[[str], None] = ignore_token


def find_services(scope: Scope) -> Services:
    """Returns the services of the server that received a request."""
    parts: ServerParts = scope["state"][KEY]
    return parts.services


def parts_of(request: Request[Any, Any, Any]) -> ServerParts:
    """Returns the parts of the server that received a request."""
    return request.scope["state"][KEY]
