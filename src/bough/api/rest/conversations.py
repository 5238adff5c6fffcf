"""Routes for the conversations that agents hold themselves: list and import them, catch up with what was said outside
of Bough, and continue a session in its agent's own terminal program."""

from __future__ import annotations

from typing import Annotated

from litestar import Router, get, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, OptionalKey, Services, errors, with_key
from bough.core.conversations.import_conversation import NewImport
from bough.model.agents.conversation import CaughtUp, ConversationList, ImportedSession, TerminalCommand


@get(
    "/conversations",
    responses=errors(403, 409),
    summary="List the conversations that the installed agents hold, newest first",
)
async def list_conversations(
    services: Services,
    agent: Annotated[str | None, QueryParameter(description="Only conversations of this agent.")] = None,
    folder: Annotated[str | None, QueryParameter(description="Only conversations in exactly this folder.")] = None,
    limit: Limit = LIMIT,
    offset: Offset = 0,
) -> ConversationList:
    return await services.conversations.list(agent, folder, limit, offset)


@post(
    "/conversations/import",
    responses=errors(403, 404, 409, 413),
    summary="Import a conversation as a completed session",
)
async def import_conversation(services: Services, caller: Caller, data: JSONBody[NewImport]) -> ImportedSession:
    return await services.imports.add(with_key(caller, data.idempotency_key), data)


@post(
    "/sessions/{session_id:str}/catch-up",
    status_code=200,
    responses=errors(403, 404, 409, 413),
    summary="Add turns that took place outside of Bough",
)
async def catch_up(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[OptionalKey | None] = None
) -> CaughtUp:
    return await services.catch_up.now(with_key(caller, data.idempotency_key if data else None), session_id)


@post(
    "/sessions/{session_id:str}/terminal-command",
    status_code=200,
    responses=errors(403, 404, 409, 413),
    summary="Get the command that continues a session in its agent's own terminal program",
)
async def get_terminal_command(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[OptionalKey | None] = None
) -> TerminalCommand:
    return await services.hand_overs.command(with_key(caller, data.idempotency_key if data else None), session_id)


router = Router(
    "/api",
    route_handlers=[list_conversations, import_conversation, catch_up, get_terminal_command],
    tags=["conversations"],
)
