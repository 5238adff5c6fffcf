"""Notices that a session's conversation was continued outside of Bough, and adds those turns to its transcript."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import structlog

from bough.agents.catalog import CatalogEntry
from bough.core.conversations import history_files
from bough.core.conversations.ask_agent import AgentReader
from bough.core.conversations.history_files import FileMark
from bough.core.conversations.read_turns import ReadTurns, read_turns
from bough.core.conversations.store_turns import store_turns
from bough.core.conversations.turns_from_replay import FoldedTurn
from bough.core.live_agents.agent_pool import AgentPool
from bough.core.state.task_ended import MOST_COST
from bough.core.store import records
from bough.core.store.session_secrets import redactor_of
from bough.core.store.sql import CONVERSATIONS, TASKS
from bough.core.store.transactions import Change, Store
from bough.core.transcripts.agent_state import shown_state, store_state
from bough.errors import AgentFailed, BoughError, Conflict, Denied
from bough.model.agents.conversation import CaughtUp
from bough.model.message import notice, raw
from bough.model.session import Caller, Session
from bough.model.task import IN_FLIGHT, Task
from bough.model.values.redaction import Redactor
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.conversations")


class KnownConversation(msgspec.Struct):
    """The agent's id of a session's conversation, how far its file is known, and the session's variables."""

    agent_session_id: str | None
    conversation_mark: msgspec.Raw | None
    env: msgspec.Raw

    @property
    def mark(self) -> FileMark | None:
        if self.conversation_mark is None:
            return None
        return msgspec.json.decode(self.conversation_mark, type=FileMark | None)

    @property
    def variables(self) -> dict[str, str]:
        return msgspec.json.decode(self.env, type=dict[str, str])


class CatchUp:
    """Keeps sessions up to date with what their agents' own programs do."""

    def __init__(self, store: Store, settings: Settings, agents: AgentPool, reader: AgentReader) -> None:
        self._store = store
        self._settings = settings
        self._agents = agents
        self._reader = reader

    async def before_turn(self, session_id: str) -> None:
        """Catches up before a turn, if the agent's file of the conversation has gained prompts since Bough's last turn.
        If that fails, the transcript says so, and the turn continues."""
        try:
            await self._before_turn(session_id)
        except Exception as error:
            # Whatever an agent wrote: a turn that cannot begin would be tried forever.
            log.warning("not_caught_up", session=session_id, error=repr(error))

    async def _before_turn(self, session_id: str) -> None:
        session = await self._store.read(lambda tx: records.session(tx, session_id))
        entry = self._agents.catalog.entry(session.agent)
        if entry is None or not entry.conversations.paths:
            return
        open_tasks = await self._store.read(lambda tx: tx.all(TASKS.open, Task, session_id=session.id))
        known = await self._known(session.id)
        path = await self._path(entry, known)
        # The prompts of a turn that was cut off are Bough's own.
        if path is None or known.mark is None or any(task.sent_attempt for task in open_tasks):
            return
        prompts = await asyncio.to_thread(history_files.prompts_since, entry, path, known.mark)
        if not prompts:
            return
        try:
            await self._catch_up(session, entry, known, prompts)
        except (AgentFailed, Conflict, Denied) as error:
            text = f"{entry.title} was used outside of Bough, but what was said there cannot be read: {error.message}"
            await self._store.write(lambda change: _note_unread(change, session, text))
            log.warning("not_caught_up", session=session.id, agent=entry.name, error=error.message)

    async def now(self, caller: Caller, session_id: str) -> CaughtUp:
        """Catches up with a session that is idle. Raises `Conflict` while a turn runs."""
        session = await self._store.read(lambda tx: idle_session(tx, session_id))
        entry = self._agents.catalog.get(session.agent)
        known = await self._known(session.id)
        if known.agent_session_id is None:
            return CaughtUp(session, 0)
        prompts: int | None = None
        path = await self._path(entry, known)
        if path is not None and known.mark is not None:
            prompts = await asyncio.to_thread(history_files.prompts_since, entry, path, known.mark)
            if not prompts:
                return CaughtUp(session, 0)
        turns = await self._catch_up(session, entry, known, prompts, idle=True)
        return CaughtUp(await self._store.read(lambda tx: records.session(tx, session.id)), turns)

    async def after_turn(self, session: Session) -> FileMark | None:
        """Returns how far the agent's file goes after a turn, to store with the end of the turn."""
        entry = self._agents.catalog.entry(session.agent)
        if entry is None or not entry.conversations.paths:
            return None
        try:
            path = await self._path(entry, await self._known(session.id))
            return await asyncio.to_thread(history_files.mark_of, path) if path is not None else None
        except (BoughError, OSError) as error:
            log.warning("conversation_not_marked", session=session.id, error=str(error))
            return None

    async def _known(self, session_id: str) -> KnownConversation:
        known = await self._store.read(lambda tx: tx.one(CONVERSATIONS.known, KnownConversation, session_id=session_id))
        assert known is not None
        return known

    async def _path(self, entry: CatalogEntry, known: KnownConversation) -> str | None:
        if known.agent_session_id is None:
            return None
        return await asyncio.to_thread(
            history_files.find_file,
            entry,
            known.variables,
            self._settings.data_path,
            known.agent_session_id,
            user=False,
        )

    async def _catch_up(
        self,
        session: Session,
        entry: CatalogEntry,
        known: KnownConversation,
        prompts: int | None,
        *,
        idle: bool = False,
    ) -> int:
        assert known.agent_session_id is not None
        agent = self._agents.get(session.id)
        if agent is not None:
            # It would not know what was said elsewhere, and some agents let only one process have a conversation.
            if idle and agent.busy:
                raise busy(session)
            await self._agents.suspend(agent)
        redactor = await self._store.read(lambda tx: redactor_of(tx, session.id))
        read = await read_turns(
            self._reader, entry, session, known.agent_session_id, known.variables, self._settings, redactor
        )
        rows = await self._store.read(lambda tx: tx.all(CONVERSATIONS.sent, tuple[str], session_id=session.id))
        # Beside the event loop, and before the transaction: an agent decides how much there is to compare.
        turns = await asyncio.to_thread(new_turns, read.turns, [prompt for (prompt,) in rows], redactor, prompts)
        count = 0

        async def work(change: Change) -> None:
            nonlocal count
            if idle:
                await idle_session(change.tx, session.id)
            fresh = await _known_again(change, session.id)
            if fresh.agent_session_id != known.agent_session_id or fresh.conversation_mark != known.conversation_mark:
                # Somebody else has caught up meanwhile, or the conversation is another one now.
                count = 0
                return
            count = len(turns)
            await _store(change, session, entry, read, turns, redactor)

        await self._store.write(work)
        log.info("caught_up", session=session.id, agent=entry.name, turns=count)
        return count


async def _note_unread(change: Change, session: Session, text: str) -> None:
    """Tells people once that a conversation cannot be read."""
    known_texts = (await records.session(change.tx, session.id)).metadata.told_texts
    if text not in known_texts:
        await records.add_message(change, session.id, None, "system", notice(text))
        await records.update_session(change, session.id, told_notices=raw([*known_texts, text]))


async def note_mark(change: Change, session_id: str, mark: FileMark | None) -> None:
    """Stores how far the agent's file of a conversation goes."""
    if mark is not None:
        await change.tx.run(CONVERSATIONS.mark, session_id=session_id, mark=raw(mark))


async def _known_again(change: Change, session_id: str) -> KnownConversation:
    known = await change.tx.one(CONVERSATIONS.known, KnownConversation, session_id=session_id)
    assert known is not None
    return known


async def _store(
    change: Change,
    session: Session,
    entry: CatalogEntry,
    read: ReadTurns,
    turns: list[FoldedTurn],
    redactor: Redactor,
) -> None:
    if turns:
        before = await records.session(change.tx, session.id)
        if read.state:
            await store_state(change, session.id, shown_state(read.state, redactor))
        number = "A turn" if len(turns) == 1 else f"{len(turns)} turns"
        text = f"{number} of this conversation took place outside of Bough, in {entry.title} itself:"
        await store_turns(change, before, turns, [text], max(read.spent - _amount(before), 0.0))
    await note_mark(change, session.id, read.mark)


def _amount(session: Session) -> float:
    cost: dict[str, Any] = msgspec.json.decode(session.cost) if session.cost is not None else {}
    return float(min(max(cost.get("amount") or 0, 0), MOST_COST))


def new_turns(turns: list[FoldedTurn], prompts: list[str], redactor: Redactor, most: int | None) -> list[FoldedTurn]:
    """Returns the turns that follow those of the prompts that Bough knows, in their order; at most so many of the
    last."""
    position = 0
    stated = [_plain(turn.prompt) for turn in turns]
    for prompt in prompts:
        words = _plain(redactor.text(prompt))
        for index in range(position, len(stated)):
            # Bough may have sent more with the prompt: the context of a fork, reports, files.
            if words and words in stated[index]:
                position = index + 1
                break
    later = turns[position:]
    return later[-most:] if most is not None else later


def _plain(text: str) -> str:
    return " ".join(text.split())


async def idle_session(tx: Tx, session_id: str) -> Session:
    """Returns a session; raises `Conflict` if a turn of it runs."""
    session = await records.session(tx, session_id)
    tasks = await tx.all(TASKS.open, Task, session_id=session.id)
    if any(task.status in IN_FLIGHT or task.status == "interrupted" for task in tasks):
        raise busy(session)
    return session


def busy(session: Session) -> Conflict:
    return Conflict("session_busy", f"A turn of session {session.id} is running. Wait for its end, or stop it.")
