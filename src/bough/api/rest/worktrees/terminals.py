"""Routes for terminals: open, list and end. `ws.terminal_socket` carries what is typed and printed."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, delete, get, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import Caller, Id, Services, errors, with_key
from bough.core.terminals.service import NewTerminal
from bough.model.terminal import Terminal


class TerminalList(msgspec.Struct, rename="camel"):
    terminals: list[Terminal]


@get("/", responses=errors(404, 409), summary="List the open terminals, oldest first")
async def list_terminals(
    services: Services,
    caller: Caller,
    worktree_id: Annotated[str | None, QueryParameter(name="worktreeId", description="Only in this worktree.")] = None,
    session_id: Annotated[
        str | None, QueryParameter(name="sessionId", description="Only where this session works.")
    ] = None,
) -> TerminalList:
    return TerminalList(await services.terminals.list(caller, worktree_id, session_id))


@post("/", responses=errors(404, 409, 413, 429, 502), summary="Open a terminal: your own shell in a worktree")
async def open_terminal(services: Services, caller: Caller, data: JSONBody[NewTerminal]) -> Terminal:
    return await services.terminals.open(with_key(caller, data.idempotency_key), data)


@delete("/{terminal_id:str}", status_code=200, responses=errors(404, 409), summary="End a terminal and what runs in it")
async def end_terminal(services: Services, caller: Caller, terminal_id: Id) -> Terminal:
    return await services.terminals.end(caller, terminal_id)


router = Router("/api/terminals", route_handlers=[list_terminals, open_terminal, end_terminal], tags=["terminals"])
