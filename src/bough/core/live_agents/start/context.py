"""Collects what a starting agent is given: the MCP servers that it can reach, context files, and the
transcript if it cannot load its conversation."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Any

import msgspec
import structlog

from bough.agents.acp.answers import Capabilities
from bough.agents.acp.types import (
    Block,
    HttpServer,
    McpServer,
    NameValue,
    ResourceBlock,
    ResourceLinkBlock,
    StdioServer,
    TextBlock,
)
from bough.agents.catalog import CatalogEntry
from bough.agents.shims import mcp_stdio
from bough.core.environment import mcp_servers
from bough.core.environment.mcp_check import find_problems
from bough.core.state.context_files import context_blocks, context_files
from bough.core.store import records
from bough.core.store.sql import SESSIONS, TASKS, TREES
from bough.core.store.transactions import Change, Store
from bough.core.transcripts import files, lineage, replay
from bough.core.transcripts.lineage import Span
from bough.core.transcripts.replay import Replay
from bough.model.message import Message
from bough.model.session import ForkHistory, Session
from bough.model.task import Task
from bough.model.trees.tree import AgentNote
from bough.storage.backend import Tx

log = structlog.get_logger("bough.runner")

AFTER_FILES = "\nThese files are the context of the prompt that follows.\n"


class Preface(msgspec.Struct):
    """The blocks that precede an agent's first prompt, and notices for people about them."""

    blocks: list[Block]
    notices: list[str]


class SessionContext:
    """The context of one session's agent."""

    def __init__(self, store: Store, session: Session, own: HttpServer | None = None, instructions: str = "") -> None:
        self._store = store
        self._session = session
        # The MCP server with Bough's own tools, for agents that can reach it.
        self._own = own
        # Of the session's preset.
        self.instructions = instructions

    async def servers(self, can: Capabilities, stdio: bool) -> tuple[list[McpServer], list[str]]:
        """Returns the MCP servers that the agent can reach, and notices about those that it cannot, or that do
        not work (C1)."""
        session = self._session
        ids = msgspec.json.decode(session.mcp_server_ids, type=list[str])
        servers, left_out = await self._store.read(
            lambda tx: mcp_servers.for_agent(tx, ids, stdio=stdio, http=can.http, sse=can.sse)
        )
        notices = await find_problems(servers)
        if self._own is not None:
            if can.http or stdio:
                servers = [*servers, self._own if can.http else bridge(self._own)]
            else:
                left_out = [*left_out, (self._own.name, "http")]
        if left_out:
            log.warning("mcp_servers_left_out", session=session.id, agent=session.agent, servers=left_out)
            named = ", ".join(f"{name} ({transport})" for name, transport in left_out)
            notices.append(f"Not attached, because the agent does not support their transport: {named}.")
        return servers, notices

    async def preface(self, instructions: str, *, embed: bool = False) -> Preface:
        """Builds what an agent is told before the first prompt of a new conversation; `embed` says whether it accepts
        files with their text."""
        blocks: list[Block] = []
        notices: list[str] = []
        if instructions:
            blocks.append(TextBlock(text=instructions))
        history = await self.history()
        if history.text:
            blocks.append(TextBlock(text=history.text))
        if history.left_out:
            notices.append(f"The agent was told the conversation so far, but not all of it: {history.left_out}.")
        files = context_files(self._session)
        blocks += await asyncio.to_thread(context_blocks, self._session, files, embed=embed)
        return Preface(blocks, notices)

    async def history(self) -> Replay:
        """Returns the transcript as quoted text, without the prompt that is about to be sent; for a fork, with the
        conversation before it."""
        own = self._session.id

        async def work(tx: Tx) -> tuple[list[Span], set[str], set[str | None]]:
            tasks = await tx.all(TASKS.open, Task, session_id=own)
            # Also a task that is recorded as sent: its line may never have left.
            unsent = {task.id for task in tasks if task.sent_attempt in (0, task.attempt)}
            untold = await tx.all(TREES.untold, AgentNote, session_id=own)
            return await lineage.spans(tx, self._session), unsent, {answer.from_session_id for answer in untold}

        spans, unsent, untold = await self._store.read(work, long=True)

        def is_told(message: Message) -> bool:
            # Messages after the prompt stay: an answer to a side question, a notice about a failed start. For a side
            # question, the prompt that the other session works on is part of the transcript.
            if message.role == "user" and message.task_id in unsent:
                return False
            # An answer to a side question that goes with the prompt is not told twice.
            return not untold or message.session_id != own or _asker(message) not in untold

        def add_page(page: list[Message], texts: dict[str, str]) -> None:
            history.add((message for message in page if is_told(message)), texts)

        history = replay.HistoryText()
        async with aclosing(lineage.backwards(self._store, spans)) as pages:
            async for page, left in pages:
                texts = await self._store.read(_texts_of(page), long=True)
                await asyncio.to_thread(add_page, page, texts)
                if history.full:
                    history.skip(await self._count(left))
                    break
        return history.build()

    async def _count(self, left: list[Span]) -> int:
        return await self._store.read(lambda tx: lineage.count(tx, left), long=True)

    async def origin(self, entry: CatalogEntry) -> str | None:
        """Returns the agent's id for the conversation that this session was forked from, if a copy of it is exactly
        what is needed: the same agent and folder, idle, and with nothing added since."""
        return await self._store.read(lambda tx: lineage.origin(tx, self._session, entry.quirks.fork_elsewhere))

    async def preface_of_copy(self) -> list[Block]:
        """Returns the instructions that a copy of another session's conversation does not know yet."""
        source_id = self._session.forked_from_session_id
        source = await self._store.read(lambda tx: tx.value(SESSIONS.instructions, id=source_id))
        return [TextBlock(text=self.instructions)] if self.instructions and self.instructions != source else []

    async def untold(self) -> list[Block]:
        """Returns the preface of an agent that an earlier server started and that was not prompted since."""
        if self._session.metadata.fork_history == "native":
            return await self.preface_of_copy()
        return (await self.preface(self.instructions)).blocks

    async def has_begun(self) -> bool:
        """Tells whether the agent's conversation holds anything worth keeping: whether it was ever sent a prompt or, if
        it was told the transcript with its first prompt, has answered anything. It may have died before it read it."""
        was_told = self._session.metadata.fork_history == "replay"
        query = TREES.heard if was_told else TREES.last_sent
        return await self._store.read(lambda tx: tx.value(query, session_id=self._session.id)) is not None

    async def record_history(self, how: ForkHistory, entry: CatalogEntry) -> None:
        """Records how a fork learned the conversation, and the cost at which a copy's counter starts."""

        async def work(change: Change) -> None:
            session = await records.session(change.tx, self._session.id)
            columns: dict[str, Any] = {"fork_history": how}
            counts_on = entry.quirks.forks_keep_cost or entry.quirks.usage == "session"
            if how == "native" and counts_on and session.forked_from_session_id is not None:
                source = await records.session(change.tx, session.forked_from_session_id)
                columns["cost"] = source.cost
            await records.update_session(change, session.id, **columns)

        if self._session.forked_from_session_id is not None:
            await self._store.write(work)


def _texts_of(page: list[Message]) -> Callable[[Tx], Awaitable[dict[str, str]]]:
    """Returns a read of the beginnings of files that were attached to prompts, by their ids."""

    async def work(tx: Tx) -> dict[str, str]:
        # Searched in the bytes first: most prompts have no files.
        with_files = [
            message
            for message in page
            if message.role == "user" and b'"files":' in bytes(message.content) and message.task_id
        ]
        texts: dict[str, str] = {}
        for message in with_files:
            # One character more than is quoted shows that there is more.
            texts |= await files.beginnings(tx, message.task_id or "", replay.LONGEST_FILE + 1)
        return texts

    return work


def _asker(message: Message) -> str | None:
    """Returns the id of the side question that a message answers, or an empty string."""
    content: dict[str, Any] = msgspec.json.decode(message.content)
    return content.get("sessionId", "") if content.get("type") == "btw" else ""


def bridge(own: HttpServer) -> StdioServer:
    """Returns Bough's own tools as a server on stdio, for an agent that takes no HTTP servers (5f). Its token is in the
    environment, and the agent's folder decides nothing about what it runs."""
    token = next(header.value for header in own.headers if header.name == "Authorization").removeprefix("Bearer ")
    env = [NameValue(name=mcp_stdio.URL, value=own.url), NameValue(name=mcp_stdio.TOKEN, value=token)]
    return StdioServer(name=own.name, command=sys.executable, args=["-I", "-m", mcp_stdio.__name__], env=env)


def guarded(servers: Sequence[McpServer], secrets: Iterable[str]) -> list[McpServer]:
    """Returns the servers with the agent's own keys blanked for those that it starts, since some agents pass on their
    whole environment. A variable that a server was given stays."""
    blank = [NameValue(name=name, value="") for name in secrets]
    return [
        msgspec.structs.replace(
            server,
            env=[
                *(variable for variable in blank if variable.name not in {own.name for own in server.env}),
                *server.env,
            ],
        )
        if isinstance(server, StdioServer)
        else server
        for server in servers
    ]


def with_preface(preface: list[Block], blocks: Sequence[Block]) -> list[Block]:
    """Returns a prompt with what goes before it. A file gets a line after it, since some agents join the blocks; the
    prompt's own text stays as it is (R4c)."""
    if preface and isinstance(preface[-1], ResourceLinkBlock | ResourceBlock):
        return [*preface, TextBlock(text=AFTER_FILES), *blocks]
    return [*preface, *blocks]
