"""Opens the conversation with an agent that has just been started: resumes it, copies the one that the session was
forked from, or starts a new one with the transcript as its preface, as far as the agent supports it."""

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
from bough.core.live_agents.failures import LOGIN_NEEDED
from bough.core.live_agents.prompt_files import PromptCapabilities
from bough.core.live_agents.start.context import SessionContext, guarded
from bough.model.session import Session, directories_of
from bough.settings import Settings

log = structlog.get_logger("bough.agents")

# Additional seconds for an agent whose package npx must fetch first.
FETCH_TIME = 600.0


class OpenConversation(msgspec.Struct):
    """An open conversation: the agent's answer, what it accepts in prompts, what it must still be told, and notices for
    people."""

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
    context: SessionContext,
) -> OpenConversation:
    """Opens the conversation in the best way that the agent supports; `known` is the agent's id for an earlier one."""
    patience = settings.initialize_timeout + (FETCH_TIME if prepared.fetched else 0)
    can = corrected(entry, (await client.initialize(patience)).capabilities)
    servers, left_out = await context.servers(can, entry.corrections.stdio)
    servers = guarded(servers, prepared.keys)
    notices = [*prepared.notices, *left_out]
    all_instructions = "\n\n".join(filter(None, (prepared.instructions, context.instructions)))
    instructions = all_instructions if can.system_prompt else ""
    directories = directories_of(session)
    if directories and not can.additional_directories:
        notices.append(
            f"{entry.title} takes no further folders. It may work in {', '.join(directories)}, but is not told so: "
            "name them in the prompt."
        )
    options: dict[str, Any] = {
        "directories": directories if can.additional_directories else [],
        "meta": prepared.meta or None,
        "instructions": instructions,
        "timeout": settings.session_timeout,
    }
    opened = None
    begun = await context.has_begun()
    if not begun:
        # A copy or a new conversation that was never used: its agent does not know the transcript.
        known = None
    if known is not None and (can.resume or can.load) and entry.resume:
        reopen = client.resume_session if can.resume else client.load_session
        try:
            opened = await reopen(known, session.cwd, servers, **options)
        except AgentRefused as error:
            _forgot(entry, session, error)
    elif known is None and can.fork:
        opened = await _forked(client, entry, session, servers, options, context)
    if opened is not None:
        preface = [] if known is not None or can.system_prompt else await context.preface_of_copy()
        return OpenConversation(opened, PromptCapabilities.of(can), preface, notices)
    if not begun or session.metadata.fork_history == "native":
        # Also of a copy that its agent has forgotten.
        await context.record_history("replay", entry)
    described = await context.preface("" if instructions else all_instructions, embed=can.embedded_context)
    opened = await client.new_session(session.cwd, servers, **options)
    return OpenConversation(opened, PromptCapabilities.of(can), described.blocks, [*notices, *described.notices])


async def _forked(
    client: AgentClient,
    entry: CatalogEntry,
    session: Session,
    servers: list[McpServer],
    options: dict[str, Any],
    context: SessionContext,
) -> SessionOpened | None:
    """Has the agent copy its conversation, if the copy is of exactly the requested moment (B1)."""
    origin = await context.origin(entry)
    if origin is None:
        return None
    try:
        opened = await client.fork_session(origin, session.cwd, servers, **options)
    except AgentRefused as error:
        _forgot(entry, session, error)
        return None
    # The other session may have moved on while its agent copied it.
    if await context.origin(entry) != origin:
        return None
    await context.record_history("native", entry)
    return opened


def _forgot(entry: CatalogEntry, session: Session, error: AgentRefused) -> None:
    if error.rpc_code in LOGIN_NEEDED:
        raise error
    log.warning("agent_forgot", session=session.id, agent=entry.name, error=error.message)


def corrected(entry: CatalogEntry, reported: Capabilities) -> Capabilities:
    """Returns the agent's capabilities, corrected by the catalog."""
    corrections = {name: value for name, value in msgspec.structs.asdict(entry.corrections).items() if name != "stdio"}
    return msgspec.structs.replace(
        reported, **{name: value for name, value in corrections.items() if value is not None}
    )
