"""The HTTP application: routes, the shape of errors, the gate in front. What runs behind it is handed in as
services."""

from __future__ import annotations

from typing import Any, cast

import structlog
from litestar import Litestar, Request, Response
from litestar.config.response_cache import ResponseCacheConfig
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.types import ASGIApp

from bough import __version__
from bough.api import page
from bough.api.auth import Gate, GateMiddleware
from bough.api.errors import HTTP_CODES, ErrorAnswer, ErrorBody, answer, meaning
from bough.api.rest import repos, sessions, system, tasks
from bough.api.rest.common import find_caller
from bough.api.ws import events
from bough.core.services import Services
from bough.errors import BoughError, Busy, Internal, Invalid
from bough.model.ids import new_id

log = structlog.get_logger("bough.http")

RETRY_AFTER = "60"


class JsonRequest(Request[Any, Any, Any]):
    """A request whose body may be no JSON in ways that the reader of JSON does not count as such."""

    async def json(self) -> Any:
        try:
            return await super().json()
        except UnicodeDecodeError:
            raise Invalid("bad_request", "The body is not UTF-8.") from None
        except RecursionError:
            raise Invalid("bad_request", "The body is nested too deeply.") from None


def build(services: Services, gate: Gate) -> ASGIApp:
    """The application as a server runs it."""

    async def provide_services() -> Services:
        return services

    app = Litestar(
        route_handlers=[
            sessions.router,
            tasks.tasks,
            tasks.approvals,
            repos.repos,
            repos.boards,
            repos.mcp_servers,
            system.router,
            events.router,
            page.router(gate),
        ],
        dependencies={
            "services": Provide(provide_services),
            "caller": Provide(find_caller, sync_to_thread=False),
        },
        request_class=JsonRequest,
        exception_handlers={BoughError: _ours, HTTPException: _frameworks, Exception: _unexpected},
        openapi_config=OpenAPIConfig(
            title="Bough",
            version=__version__,
            description="Runs trees of coding-agent sessions.",
            components=Components(security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}),
            security=[{"token": []}],
            path="/openapi",
            render_plugins=[JsonRenderPlugin()],
        ),
        request_max_body_size=services.settings.max_body,
        response_cache_config=ResponseCacheConfig(),
        logging_config=None,
        debug=False,
    )
    return GateMiddleware(app, gate)


def _respond(body: ErrorAnswer, status: int, headers: dict[str, str] | None = None) -> Response[ErrorAnswer]:
    return Response(body, status_code=status, media_type="application/json", headers=headers)


def _ours(_request: Request[Any, Any, Any], error: BoughError) -> Response[ErrorAnswer]:
    body = answer(error)
    if isinstance(error, Internal):
        log.error("request_failed", id=body.error.id, code=error.code, message=error.message)
    headers = {"Retry-After": RETRY_AFTER} if isinstance(error, Busy) else None
    return _respond(body, meaning(error).status, headers)


def _frameworks(_request: Request[Any, Any, Any], error: HTTPException) -> Response[ErrorAnswer]:
    """What Litestar itself refuses: an unknown path, a wrong method, a body that does not fit."""
    status = error.status_code
    message = error.detail
    for part in cast("list[dict[str, Any]]", error.extra if isinstance(error.extra, list) else []):
        message += f" {part.get('key', 'body')}: {part.get('message', '')}"
    code = HTTP_CODES.get(status, "bad_request" if status < 500 else "internal")
    return _respond(ErrorAnswer(ErrorBody(code, message, new_id())), status, error.headers)


def _unexpected(request: Request[Any, Any, Any], error: Exception) -> Response[ErrorAnswer]:
    body = ErrorAnswer(ErrorBody("internal", "Bough failed to do this; the log has more under this id.", new_id()))
    log.error("request_failed", id=body.error.id, path=request.url.path, error=repr(error), exc_info=error)
    return _respond(body, 500)
