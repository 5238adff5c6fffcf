"""Opening the conversation with an agent that has just been started: taken up again where it was, copied from the one
that the session was forked from, or begun anew and told the past. Which of these an agent can do, it says itself."""

from __future__ import annotations

from typing import Any

import msgspec
import structlog

from bough.agents.acp.answers import Capabilities, SessionOpened
from bough.agents.acp.client import AgentClient
from bough.agents.acp.types import Block, McpServer
from bough.agents.catalog import CatalogEntry
from bough.agents.catalog.prepare import PreparedStart
from bough.agents.errors import AgentRefused
from bough.core.turns.context import SessionContext, guarded
from bough.core.turns.failures import LOGIN_NEEDED
from bough.core.turns.prompt_files import PromptCapabilities
from bough.model.session import Session
from bough.settings import Settings

log = structlog.get_logger("bough.agents")

# A package that npx must fetch first is given this much longer, in seconds, to come up.
FETCH_TIME = 600.0


class Conversation(msgspec.Struct):
    """A conversation that is open: what the agent answered, what it takes in prompts, what it must still be told, what
    people should know."""

    opened: SessionOpened
    takes: PromptCapabilities
    preface: list[Block]
    notices: list[str]


async def open_conversation(
    client: AgentClient,
    entry: CatalogEntry,
    session: Session,
    prepared: PreparedStart,
    settings: Settings,
    known: str | None,
    past: SessionContext,
) -> Conversation:
    """Opens it in the best way that there is; `known` is the agent's own id of it from before."""
    patience = settings.initialize_timeout + (FETCH_TIME if prepared.fetched else 0)
    can = corrected(entry, (await client.initialize(patience)).capabilities)
    servers, left_out = await past.servers(can, entry.corrections.stdio)
    servers = guarded(servers, [name for name in entry.login.env if name in prepared.env])
    notices = [*prepared.notices, *left_out]
    instructions = prepared.instructions if can.system_prompt else ""
    given: dict[str, Any] = {
        "meta": prepared.meta or None,
        "instructions": instructions,
        "timeout": settings.session_timeout,
    }
    opened = None
    begun = await past.begun()
    if not begun:
        # A copy or a new conversation that was never used: its agent was not told the past.
        known = None
    if known is not None and (can.resume or can.load) and entry.resume:
        reopen = client.resume_session if can.resume else client.load_session
        try:
            opened = await reopen(known, session.cwd, servers, **given)
        except AgentRefused as error:
            _forgot(entry, session, error)
    elif known is None and can.fork:
        opened = await _forked(client, entry, session, servers, given, past)
    if opened is not None:
        return Conversation(opened, PromptCapabilities.of(can), [], notices)
    if not begun:
        await past.came("replay", entry)
    told = await past.preface("" if instructions else prepared.instructions)
    opened = await client.new_session(session.cwd, servers, **given)
    return Conversation(opened, PromptCapabilities.of(can), told.blocks, [*notices, *told.notices])


async def _forked(
    client: AgentClient,
    entry: CatalogEntry,
    session: Session,
    servers: list[McpServer],
    given: dict[str, Any],
    past: SessionContext,
) -> SessionOpened | None:
    """A copy that the agent makes itself, if it is of exactly the moment that was asked for (B1)."""
    origin = await past.origin(entry)
    if origin is None:
        return None
    try:
        opened = await client.fork_session(origin, session.cwd, servers, **given)
    except AgentRefused as error:
        _forgot(entry, session, error)
        return None
    # The other session may have moved on while its agent copied it.
    if await past.origin(entry) != origin:
        return None
    await past.came("native", entry)
    return opened


def _forgot(entry: CatalogEntry, session: Session, error: AgentRefused) -> None:
    if error.rpc_code in LOGIN_NEEDED:
        raise error
    log.warning("agent_forgot", session=session.id, agent=entry.name, error=error.message)


def corrected(entry: CatalogEntry, told: Capabilities) -> Capabilities:
    """What the agent can do, by its word and by what the catalog knows better."""
    better = {name: value for name, value in msgspec.structs.asdict(entry.corrections).items() if name != "stdio"}
    return msgspec.structs.replace(told, **{name: value for name, value in better.items() if value is not None})
