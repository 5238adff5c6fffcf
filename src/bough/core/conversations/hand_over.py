"""Hands a session over to its agent's own terminal program. Bough catches up before the next turn."""

from __future__ import annotations

import asyncio
import shlex

from bough.agents.catalog.prepare import terminal_command
from bough.core.conversations.catch_up import KnownConversation, busy, idle_session
from bough.core.live_agents.agent_pool import AgentPool
from bough.core.store.sql import CONVERSATIONS
from bough.core.store.transactions import Change, Store
from bough.core.worktrees.session_folders import require_folder
from bough.errors import Conflict, Denied
from bough.model.agents.conversation import TerminalCommand, is_plain_id
from bough.model.session import Caller, Session
from bough.model.values.visible import visible
from bough.settings import Settings
from bough.storage.backend import Tx

LONGEST_SHOWN = 60


class HandOvers:
    """Tells how to continue a session in its agent's own terminal program."""

    def __init__(self, store: Store, settings: Settings, agents: AgentPool) -> None:
        self._store = store
        self._settings = settings
        self._agents = agents

    async def command(self, caller: Caller, session_id: str) -> TerminalCommand:
        """Returns the command, after ending the session's idle agent, which would not see what is said there. Raises
        `Conflict` while a turn runs, or if the agent has no such program or no conversation yet."""
        if caller.kind == "session":
            raise Denied("terminal_for_people", "Only people can continue a session in a terminal.")

        async def read(tx: Tx) -> tuple[Session, KnownConversation]:
            session = await idle_session(tx, session_id)
            known = await tx.one(CONVERSATIONS.known, KnownConversation, session_id=session.id)
            assert known is not None
            return session, known

        session, known = await self._store.read(read)
        entry = self._agents.catalog.get(session.agent)
        if not entry.conversations.terminal:
            raise Conflict(
                "agent_without_terminal",
                f"{entry.title} has no terminal program that could continue this conversation.",
                agent=entry.name,
            )
        if known.agent_session_id is None or session.activity == "not_started":
            raise Conflict("conversation_not_begun", "This session has no conversation yet. Send it a prompt first.")
        if not is_plain_id(known.agent_session_id):
            raise Conflict(
                "odd_conversation_id",
                f"{entry.title} gave its conversation the id {visible(known.agent_session_id[:LONGEST_SHOWN])!r}, "
                "which its terminal program could take for an option. Start a new session.",
            )
        await asyncio.to_thread(require_folder, session.cwd)
        agent = self._agents.get(session.id)
        if agent is not None:
            if agent.busy:
                raise busy(session)
            await self._agents.suspend(agent)
        words, env = await asyncio.to_thread(
            terminal_command, entry, known.variables, self._settings.data_path, known.agent_session_id, session.cwd
        )

        async def note(change: Change) -> None:
            # A turn may have begun meanwhile.
            await idle_session(change.tx, session.id)
            change.audit(caller, "session.handed_over", session_id=session.id, subject_id=session.id)

        # Only now nothing can refuse it: the trail names no hand-over that did not take place.
        await self._store.write(note)
        line = shlex.join(words)
        if env:
            line = " ".join(["env", *(shlex.quote(f"{name}={value}") for name, value in env.items()), line])
        return TerminalCommand(f"cd {shlex.quote(session.cwd)} && {line}", words, env, session.cwd)
