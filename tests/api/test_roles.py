"""Tests the tables of roles: every route, tool and method is in them, and what is not is denied."""

from __future__ import annotations

import pytest
from litestar.routes import HTTPRoute, WebSocketRoute

from bough.api.acp.protocol.editor import Editor
from bough.api.mcp.tools.all_tools import TOOLS as ALL_TOOLS
from bough.api.page.routes import BUILT, PAGE_FILE
from bough.api.roles import EDITOR_METHODS, ROUTES, TOOLS, check_editor_method, check_route, check_tool
from bough.api.server.app import application
from bough.errors import Denied, Unauthenticated
from bough.model.session import Caller
from tests.support.server import Running

VIEWER = Caller(role="viewer", user_id="x", user_name="anna")
OPERATOR = Caller(role="operator", user_id="x", user_name="anna")


async def test_every_route_is_in_the_table(server: Running) -> None:
    """L1: Each route and socket of the application has a role, and the table names no other."""
    app = application(server.services.settings.max_body, BUILT)
    served: set[str] = set()
    # The modules of built files, which hold no data.
    of_files: set[str] = set()
    for route in app.routes:
        template = route.path_format or "/"
        if isinstance(route, WebSocketRoute):
            served.add(f"WS {template}")
        elif isinstance(route, HTTPRoute):
            for method, (handler, _) in route.route_handler_map.items():
                if handler.opt.get(PAGE_FILE):
                    of_files.add(handler.fn.__module__)
                elif method != "OPTIONS":
                    served.add(f"{method} {template}")
    assert of_files <= {"bough.api.page.routes"}
    assert served - set(ROUTES) == set()
    assert set(ROUTES) - served <= {"GET /assets/{name}"}


def test_what_is_not_decided_is_denied() -> None:
    """L1: A route, tool or method that is in no table is denied to everybody, also to the owner."""
    for caller in (Caller(), VIEWER):
        with pytest.raises(Denied, match="No role is defined"):
            check_route(caller, "POST", "/api/new")
        with pytest.raises(Denied, match="No role is defined"):
            check_tool(caller, "agor_new")
        with pytest.raises(Denied, match="No role is defined"):
            check_editor_method(caller, "session/new_method")
    with pytest.raises(Unauthenticated):
        check_route(None, "GET", "/api/sessions")
    check_route(None, "GET", "/")


def test_roles_include_each_other() -> None:
    """L1: An operator may do what a viewer may, and an admin everything; agents are not judged by roles."""
    check_route(VIEWER, "GET", "/api/sessions")
    check_route(OPERATOR, "GET", "/api/sessions")
    check_route(OPERATOR, "POST", "/api/sessions")
    check_route(Caller(), "POST", "/api/users")
    for caller, route in ((VIEWER, "/api/sessions"), (OPERATOR, "/api/users")):
        with pytest.raises(Denied) as refused:
            check_route(caller, "POST", route)
        assert refused.value.code == "role_too_low"
    check_tool(Caller(kind="session", id="x", role="viewer"), "agor_sessions_stop")


async def test_every_tool_and_method_is_in_its_table(server: Running) -> None:
    """L1: Each tool has a role: reading needs a viewer, changing an operator. So does each method of editors."""
    assert {tool.name: "viewer" if tool.claim is None else "operator" for tool in ALL_TOOLS} == TOOLS

    async def send(_frame: bytes) -> None:
        return

    editor = Editor(server.services, Caller(), send, lambda _why: None)
    known = {*editor._answers, *editor._creators, *editor._notices}  # pyright: ignore[reportPrivateUsage]
    assert set(EDITOR_METHODS) == known
