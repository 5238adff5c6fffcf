"""Builds the HTTP application: mounts all routes, turns errors into answers, and puts the middleware in front."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import structlog
from litestar import Litestar, Request, Response
from litestar.config.response_cache import ResponseCacheConfig
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.handlers import BaseRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme
from litestar.routes import HTTPRoute
from litestar.types import ASGIApp

from bough import __version__
from bough.api import roles
from bough.api.acp.protocol import door
from bough.api.errors import ErrorAnswer, ErrorBody, answer, error_id, meaning
from bough.api.http.invalid_requests import decoded, explained
from bough.api.http.openapi import CorrectedJsonPlugin, operation_id
from bough.api.http.requests import find_caller
from bough.api.http.server_parts import ServerParts, find_services
from bough.api.page import routes
from bough.api.rest import (
    agents,
    approvals,
    checkpoints,
    conversations,
    files,
    home,
    mcp_servers,
    policy,
    presets,
    reviews,
    runs,
    saved_prompts,
    schedules,
    search,
    system,
)
from bough.api.rest.access import audit, tokens, users
from bough.api.rest.repos import clones, repos, workspace
from bough.api.rest.sessions import calls, control, races, sessions, tasks, trees
from bough.api.rest.worktrees import boards, checks, finish, sweep, terminals, worktrees
from bough.api.server.middleware import GateMiddleware, log_refusal
from bough.api.ws import terminal_socket
from bough.api.ws import websocket_and_sse as events
from bough.errors import BoughError, Busy, Internal, Unavailable

log = structlog.get_logger("bough.http")

# Seconds to wait when a limit is reached, and when the database is away.
RETRY_AFTER = "60"
RETRY_DATABASE_AFTER = "5"


class JsonRequest(Request[Any, Any, Any]):
    """A request whose JSON body is decoded strictly as its route's type."""

    async def json(self) -> Any:
        field = self.route_handler.parsed_data_field
        return decoded(await self.body(), field.annotation if field else Any)


def build(parts: ServerParts, tools: ASGIApp | None = None) -> ASGIApp:
    """Returns the application as a server runs it; `tools` is the MCP door for agents."""
    app = application(parts.services.settings.max_body, routes.BUILT)
    methods: dict[str, frozenset[str]] = {}
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            route_methods = frozenset(map(str, route.methods))
            methods[route.path_format] = methods.get(route.path_format, frozenset[str]()) | route_methods
    return GateMiddleware(app, parts, methods, tools)


def application(max_body: int, page_folder: Path) -> Litestar:
    """Returns the Litestar application with all routes. It knows no server: each request brings the parts of the one
    that received it."""
    return Litestar(
        route_handlers=[
            sessions.router,
            control.router,
            trees.router,
            home.router,
            calls.router,
            races.router,
            search.router,
            tasks.router,
            approvals.router,
            checkpoints.router,
            files.router,
            policy.router,
            repos.router,
            clones.router,
            workspace.router,
            reviews.router,
            worktrees.router,
            checks.router,
            conversations.router,
            runs.router,
            schedules.router,
            sweep.router,
            terminals.router,
            finish.router,
            boards.router,
            mcp_servers.router,
            agents.router,
            presets.router,
            saved_prompts.router,
            system.router,
            tokens.router,
            users.router,
            audit.router,
            events.router,
            terminal_socket.router,
            door.acp_socket,
            routes.router(page_folder),
        ],
        dependencies={
            "services": Provide(find_services, sync_to_thread=False),
            "caller": Provide(find_caller, sync_to_thread=False),
        },
        guards=[_check_role],
        request_class=JsonRequest,
        exception_handlers={BoughError: _bough_error, HTTPException: _framework_error, Exception: _unexpected_error},
        openapi_config=OpenAPIConfig(
            title="Bough",
            version=__version__,
            description="Runs trees of coding-agent sessions.",
            components=Components(security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}),
            security=[{"token": []}],
            path="/openapi",
            render_plugins=[CorrectedJsonPlugin()],
            operation_id_creator=operation_id,
        ),
        request_max_body_size=max_body,
        state=State({"max_body": max_body}),
        response_cache_config=ResponseCacheConfig(),
        logging_config=None,
        debug=False,
    )


async def _check_role(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Refuses callers whose role does not include the route, before its body is read."""
    if handler.opt.get(routes.PAGE_FILE):
        return
    scope = connection.scope
    method = scope["method"] if scope["type"] == "http" else "WS"
    roles.check_route(scope["state"]["caller"], method, scope["path_template"] or "/")


def _respond(body: ErrorAnswer, status: int, headers: dict[str, str] | None = None) -> Response[ErrorAnswer]:
    return Response(body, status_code=status, media_type="application/json", headers=headers)


def _bough_error(request: Request[Any, Any, Any], error: BoughError) -> Response[ErrorAnswer]:
    body = answer(error)
    if isinstance(error, Internal):
        log.error("request_failed", id=body.error.id, code=error.code, message=error.message)
    else:
        log_refusal(body, request.scope)
    retry_after = RETRY_DATABASE_AFTER if isinstance(error, Unavailable) else RETRY_AFTER
    headers = {"Retry-After": retry_after} if isinstance(error, Busy) else None
    return _respond(body, meaning(error).status, headers)


def _framework_error(request: Request[Any, Any, Any], error: HTTPException) -> Response[ErrorAnswer]:
    """Answers an error that Litestar itself raises."""
    code, message, details = explained(request, error, request.app.state["max_body"])
    body = ErrorAnswer(ErrorBody(code, message, error_id(), details))
    log_refusal(body, request.scope)
    return _respond(body, error.status_code, error.headers)


def _unexpected_error(request: Request[Any, Any, Any], error: Exception) -> Response[ErrorAnswer]:
    body = ErrorAnswer(ErrorBody("internal", "Bough failed to do this. See the log entry with this id.", error_id()))
    log.error("request_failed", id=body.error.id, path=request.url.path, error=repr(error), exc_info=error)
    return _respond(body, 500)
