"""What a waking agent is given of its session: MCP servers that it can reach, files to look at, and the past if it
cannot load it. When it is given them is `live`."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import structlog

from bough.agents.acp.answers import Capabilities
from bough.agents.acp.types import Block, McpServer, ResourceLinkBlock, TextBlock
from bough.agents.catalog import Entry
from bough.core import lineage, mcp_servers, replay
from bough.core.replay import Replay
from bough.core.store import Store
from bough.model.message import Message
from bough.model.session import Session
from bough.storage.backend import Tx

log = structlog.get_logger("bough.runner")


class Preface(msgspec.Struct):
    """What an agent is told before a prompt, and what people should know about that."""

    blocks: list[Block]
    notices: list[str]


class SessionPast:
    """The past of one session."""

    def __init__(self, store: Store, session: Session) -> None:
        self._store = store
        self._session = session

    async def servers(self, can: Capabilities, stdio: bool) -> tuple[list[McpServer], list[str]]:
        """The MCP servers that the agent can reach, and a sentence about those that it cannot (C1)."""
        session = self._session
        ids = msgspec.json.decode(session.mcp_server_ids, type=list[str])
        found, left_out = await self._store.read(
            lambda tx: mcp_servers.for_agent(tx, ids, stdio=stdio, http=can.http, sse=can.sse)
        )
        if not left_out:
            return found, []
        log.warning("mcp_servers_left_out", session=session.id, agent=session.agent, servers=left_out)
        named = ", ".join(f"{name} ({transport})" for name, transport in left_out)
        return found, [f"Not attached, because the agent does not speak that way to MCP servers: {named}."]

    async def preface(self, instructions: str) -> Preface:
        """What an agent that begins anew is told before its first prompt."""
        told: list[Block] = []
        notices: list[str] = []
        if instructions:
            told.append(TextBlock(text=instructions))
        history = await self.history()
        if history.text:
            told.append(TextBlock(text=history.text))
        if history.left_out:
            notices.append(f"The agent was told the conversation so far, but not all of it: {history.left_out}.")
        return Preface([*told, *links(self._session)], notices)

    async def history(self) -> Replay:
        """The transcript without the prompt that is about to be sent, as quoted text; of a fork also what was said
        before it was one."""

        async def work(tx: Tx) -> list[Message]:
            return await lineage.messages(tx, self._session)

        messages = await self._store.read(work, long=True)
        while messages and messages[-1].role == "user":
            messages.pop()
        return replay.transcript(messages)

    async def origin(self, entry: Entry) -> str | None:
        """The agent's own id of the conversation that this session was forked from, if a copy of that, as it stands,
        is just what is wanted: the same agent and folder, at rest, and nothing said since."""
        return await self._store.read(lambda tx: lineage.origin(tx, self._session, entry.quirks.fork_elsewhere))


def links(session: Session) -> list[Block]:
    """The session's context files, which the agent may read itself (R2)."""
    return [
        ResourceLinkBlock(name=os.path.relpath(file, session.cwd), uri=Path(file).as_uri())
        for file in context_files(session)
    ]


def context_files(session: Session) -> list[str]:
    return msgspec.json.decode(session.context_files, type=list[str])


def continuation(prompt: str) -> list[Block]:
    """What an agent is told whose last attempt at a task was cut off: the task quoted, then to go on."""
    return [TextBlock(text=replay.quoted(prompt)), TextBlock(text=replay.CONTINUE)]
