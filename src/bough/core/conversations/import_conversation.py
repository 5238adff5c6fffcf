"""Imports an agent's conversation as a session: with its whole transcript and usage, once, in one transaction. A kill
before it leaves nothing; afterwards the session is like any other that was completed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from bough.agents.catalog import Catalog, CatalogEntry
from bough.agents.catalog.find_program import startable
from bough.core.conversations import history_files
from bough.core.conversations.ask_agent import AgentReader
from bough.core.conversations.listing import ConversationLists
from bough.core.conversations.read_turns import ReadTurns, read_turns
from bough.core.conversations.store_turns import store_turns
from bough.core.live_agents.beside import reading_session
from bough.core.state.end_reasons import IMPORTED
from bough.core.store import records
from bough.core.store.sql import CONVERSATIONS, SESSIONS, WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.transcripts.agent_state import shown_state, store_state
from bough.core.worktrees.allowed_paths import resolve_inside
from bough.core.worktrees.repos import Repos
from bough.core.worktrees.session_folders import check_session_folder, folder_warnings
from bough.errors import Conflict, Denied, Invalid
from bough.git.working_copy.folder_state import state as git_state
from bough.model.agents.conversation import Conversation, ImportedSession
from bough.model.message import raw
from bough.model.repo import Repo, Worktree
from bough.model.session import CallbackConfig, Caller
from bough.model.values.ids import new_id
from bough.model.values.redaction import NOTHING_SECRET
from bough.settings import Settings
from bough.storage.backend import Tx

LONGEST_TITLE = 500
SCOPE = "conversations.import"


class NewImport(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A conversation to import. `folder` is where its session works, by default where the conversation took place."""

    agent: str
    conversation_id: str
    folder: str | None = None
    title: str | None = None
    # A person's confirmation that the session may work in a folder that contains Bough's data folder or belongs to git.
    confirm_folder: bool = False
    idempotency_key: str | None = None


class SessionPlace(msgspec.Struct):
    """Where an imported session works."""

    cwd: str
    repo: Repo
    worktree_id: str | None


class Imports:
    """Imports conversations."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        catalog: Catalog,
        reader: AgentReader,
        lists: ConversationLists,
        repos: Repos,
    ) -> None:
        self._store = store
        self._settings = settings
        self._catalog = catalog
        self._reader = reader
        self._lists = lists
        self._repos = repos

    async def add(self, caller: Caller, new: NewImport) -> ImportedSession:
        """Imports a conversation. Raises `Conflict` (`conversation_known`) with the session that already holds it."""
        if caller.kind == "session":
            raise Denied("import_for_people", "Only people can import conversations.")
        if new.title is not None and len(new.title) > LONGEST_TITLE:
            raise Invalid("title_too_long", f"A title has at most {LONGEST_TITLE} characters.")
        request = msgspec.structs.replace(new, idempotency_key=None)
        stored = await self._store.stored_answer(caller, SCOPE, request, ImportedSession)
        if stored is not None:
            return stored
        entry = self._catalog.get(new.agent)
        startable(entry, self._settings.data_path)
        conversation = await self._lists.find(entry.name, new.conversation_id)
        if conversation.session_id is not None:
            # Perhaps by the same request, whose client did not wait for its answer.
            stored = await self._store.stored_answer(caller, SCOPE, request, ImportedSession)
            if stored is not None:
                return stored
            raise known(entry, conversation.session_id)
        cwd = await asyncio.to_thread(self._folder, caller, new, conversation)
        worktree = await self._worktree(cwd)
        if worktree is not None:
            repo = await self._repos.get(worktree.repo_id)
            return await self._add(caller, new, entry, conversation, SessionPlace(str(cwd), repo, worktree.id))
        async with self._repos.added_for(caller, str(cwd)) as repo:
            return await self._add(caller, new, entry, conversation, SessionPlace(str(cwd), repo, None))

    def _folder(self, caller: Caller, new: NewImport, conversation: Conversation) -> Path:
        root, data = self._settings.root_path, self._settings.data_path
        cwd = resolve_inside(root, new.folder or conversation.folder, noun="folder", data=data)
        check_session_folder(caller, cwd, data, confirmed=new.confirm_folder)
        return cwd

    async def _worktree(self, cwd: Path) -> Worktree | None:
        """Returns the worktree that contains a folder, the innermost."""

        async def work(tx: Tx) -> Worktree | None:
            paths = {path for (path,) in await tx.all(WORKTREES.paths, tuple[str])}
            for folder in (cwd, *cwd.parents):
                if str(folder) in paths:
                    return await tx.one(WORKTREES.by_path, Worktree, path=str(folder))
            return None

        return await self._store.read(work)

    async def _add(
        self, caller: Caller, new: NewImport, entry: CatalogEntry, conversation: Conversation, place: SessionPlace
    ) -> ImportedSession:
        data = self._settings.data_path
        await asyncio.to_thread(history_files.link_file, entry, {}, data, conversation.id)
        reading = msgspec.structs.replace(reading_session(entry, place.cwd), repo_id=place.repo.id)
        read = await read_turns(self._reader, entry, reading, conversation.id, {}, self._settings, NOTHING_SECRET)
        if not read.turns:
            raise Conflict("conversation_empty", f"{entry.title} holds no prompt of this conversation.")
        git = await git_state(place.cwd) if place.repo.kind == "git" else None
        session_id = new_id()
        request = msgspec.structs.replace(new, idempotency_key=None)

        async def work(change: Change) -> ImportedSession:
            session = await records.add_session(
                change,
                caller,
                session_id=session_id,
                repo_id=place.repo.id,
                worktree_id=place.worktree_id,
                cwd=place.cwd,
                agent=entry.name,
                title=(new.title or conversation.title or read.turns[0].prompt).strip()[:LONGEST_TITLE],
                description="",
                permission_mode=entry.default_mode,
                model=None,
                effort=None,
                mcp_server_ids=raw([]),
                env={},
                context_files=raw([]),
                callback=raw(CallbackConfig()),
                git_state=raw(git or {}),
                headless=None,
                sandbox=None,
                sandbox_profile=None,
            )
            claimed = await change.tx.run(
                CONVERSATIONS.claim,
                agent=entry.name,
                conversation_id=conversation.id,
                session_id=session.id,
                now=change.now,
            )
            if not claimed:
                raise known(entry, await self._holder(change.tx, entry, conversation.id))
            await self._fill(change, session.id, conversation, read)
            ended = await records.update_session(
                change,
                session.id,
                status="completed",
                activity="idle",
                ended_at=change.now,
                end_reason=IMPORTED,
            )
            change.audit(caller, "conversation.imported", session_id=session.id, subject_id=conversation.id)
            return ImportedSession(ended, len(read.turns), [*read.notices, *folder_warnings(Path(place.cwd))])

        return await self._store.write_once(caller, SCOPE, request, ImportedSession, work)

    async def _fill(self, change: Change, session_id: str, conversation: Conversation, read: ReadTurns) -> None:
        session = await records.session(change.tx, session_id)
        if read.state:
            await store_state(change, session_id, shown_state(read.state, NOTHING_SECRET))
        when = f", last changed at {conversation.updated_at}" if conversation.updated_at else ""
        text = f"Imported from the conversation {conversation.id} of {conversation.agent}{when}."
        await store_turns(change, session, read.turns, [text, *read.notices], read.spent)
        await change.tx.run(SESSIONS.set_agent_session, id=session_id, agent_session_id=conversation.id)
        if read.mark is not None:
            await change.tx.run(CONVERSATIONS.mark, session_id=session_id, mark=raw(read.mark))

    async def _holder(self, tx: Tx, entry: CatalogEntry, conversation_id: str) -> str:
        rows = await tx.all(CONVERSATIONS.owners, tuple[str, str], agent=entry.name, ids=[conversation_id])
        return rows[0][1] if rows else ""


def known(entry: CatalogEntry, session_id: str) -> Conflict:
    """Builds the error for a conversation that a session holds."""
    return Conflict(
        "conversation_known",
        f"Session {session_id} already holds this conversation of {entry.title}. Resume or fork that one.",
        sessionId=session_id,
    )
