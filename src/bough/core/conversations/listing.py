"""Lists the conversations of the installed agents, by the protocol or from the files that an agent's catalog file
describes."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import structlog

from bough.agents.acp.answers import ListedConversation
from bough.agents.catalog import Catalog, CatalogEntry
from bough.core.conversations import history_files
from bough.core.conversations.ask_agent import AgentReader
from bough.core.store.sql import CONVERSATIONS
from bough.core.store.transactions import Store
from bough.core.worktrees.allowed_paths import resolve_inside
from bough.errors import BoughError, Conflict, NotFound
from bough.model.agents.conversation import LONGEST_ID, Conversation, ConversationList, UnreadAgent, is_plain_id
from bough.model.values.redaction import NOTHING_SECRET
from bough.model.values.times import parse, written
from bough.model.values.visible import visible
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.conversations")

LONGEST_TITLE = 200
LONGEST_FOLDER = 4096
OUTSIDE = "Its folder is outside the workspace root."
GONE = "Its folder is gone; name another one to import it there."


class _Owner(msgspec.Struct):
    conversation_id: str
    session_id: str


class ConversationLists:
    """Lists conversations."""

    def __init__(self, store: Store, settings: Settings, catalog: Catalog, reader: AgentReader) -> None:
        self._store = store
        self._settings = settings
        self._catalog = catalog
        self._reader = reader

    async def list(self, agent: str | None, folder: str | None, limit: int, offset: int) -> ConversationList:
        """Returns the conversations of one agent or of all that are installed, in one folder or everywhere."""
        if folder is not None:
            root, data = self._settings.root_path, self._settings.data_path
            folder = str(await asyncio.to_thread(resolve_inside, root, folder, noun="folder", data=data))
        entries = [self._catalog.get(agent)] if agent is not None else await self._installed()
        answers = await asyncio.gather(*(self._of_agent(entry, folder) for entry in entries))
        listed = [conversation for conversations, _ in answers for conversation in conversations]
        listed.sort(key=lambda conversation: conversation.updated_at or "", reverse=True)
        unread = [problem for _, problem in answers if problem is not None]
        if agent is not None and unread:
            raise Conflict("conversations_unread", unread[0].reason, agent=agent)
        return ConversationList(listed[offset : offset + limit], unread, len(listed), limit, offset)

    async def find(self, agent: str, conversation_id: str) -> Conversation:
        """Returns one conversation. Raises `NotFound` if the agent holds none with this id."""
        entry = self._catalog.get(agent)
        for conversation in await self._read(entry, None):
            if conversation.id == conversation_id:
                return conversation
        raise NotFound(
            "conversation_not_found",
            f"{entry.title} holds no conversation {conversation_id[:LONGEST_ID]!r}. List them with `bough import`.",
        )

    async def _installed(self) -> list[CatalogEntry]:
        """Returns the agents that can be started without a download."""

        def find() -> list[CatalogEntry]:
            agents = ((entry, self._catalog.find(entry)) for entry in self._catalog.entries())
            return [entry for entry, located in agents if located is not None and located.how == "installed"]

        return await asyncio.to_thread(find)

    async def _of_agent(self, entry: CatalogEntry, folder: str | None) -> tuple[list[Conversation], UnreadAgent | None]:
        try:
            return await self._read(entry, folder), None
        except BoughError as error:
            log.info("conversations_not_listed", agent=entry.name, error=error.message)
            return [], UnreadAgent(entry.name, error.message)

    async def _read(self, entry: CatalogEntry, folder: str | None) -> list[Conversation]:
        data = self._settings.data_path
        if entry.conversations.list_files:
            files = await asyncio.to_thread(history_files.list_files, entry, {}, data)
            listed = [ListedConversation(file.id, file.folder, file.title, file.updated_at) for file in files]
        else:
            listed = await self._reader.list(entry, folder)
        conversations = await asyncio.to_thread(_checked, entry, listed, folder, self._settings)
        owners = await self._owners(entry.name, [conversation.id for conversation in conversations])
        return [
            msgspec.structs.replace(conversation, session_id=owners.get(conversation.id))
            for conversation in conversations
        ]

    async def _owners(self, agent: str, ids: Sequence[str]) -> dict[str, str]:
        async def work(tx: Tx) -> dict[str, str]:
            rows = await tx.all(CONVERSATIONS.owners, _Owner, agent=agent, ids=list(ids)) if ids else []
            return {row.conversation_id: row.session_id for row in rows}

        return await self._store.read(work)


def _checked(
    entry: CatalogEntry, listed: Sequence[ListedConversation], folder: str | None, settings: Settings
) -> list[Conversation]:
    """Returns the valid conversations of an agent's list, each once, with the reason why one cannot be imported."""
    root = Path(os.path.realpath(settings.root_path))
    conversations: dict[str, Conversation] = {}
    for session in listed:
        fits = is_plain_id(session.session_id) and len(session.cwd) <= LONGEST_FOLDER and "\0" not in session.cwd
        if not fits or not os.path.isabs(session.cwd) or session.session_id in conversations:
            continue
        real = Path(os.path.realpath(session.cwd))
        if folder is not None and str(real) != folder:
            continue
        is_inside = real == root or root in real.parents
        refusal = None if is_inside and real.is_dir() else GONE if is_inside else OUTSIDE
        title = NOTHING_SECRET.text(visible(" ".join(session.title.replace("\0", "").split())[:LONGEST_TITLE]))
        conversations[session.session_id] = Conversation(
            entry.name, session.session_id, session.cwd, title, _time(session.updated_at), None, refusal
        )
    return list(conversations.values())


def _time(text: str | None) -> str | None:
    if text is None:
        return None
    with contextlib.suppress(BoughError):
        return written(parse(text[:64]))
    return None
