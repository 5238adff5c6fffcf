"""Creates sessions together with a new worktree, and removes the worktree when a session ends (W2)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator

import msgspec

from bough.core.sessions.ending.control import Control
from bough.core.sessions.ending.purge import Purging
from bough.core.sessions.requests import NewSession, OpenedSession
from bough.core.sessions.service import Sessions
from bough.core.state.limits.session_limit import check_admission
from bough.core.store.short_ids import find_id
from bough.core.store.transactions import Change, Store
from bough.core.worktrees import for_branch
from bough.core.worktrees.records import NewWorktree
from bough.core.worktrees.removal.remove import Removed
from bough.core.worktrees.service import Worktrees
from bough.errors import Invalid
from bough.model.repo import Worktree
from bough.model.session import Caller, Session
from bough.model.values.ids import new_id
from bough.settings import Settings

SCOPE = "sessions.create.worktree"


class Ended(msgspec.Struct):
    """A session that was cancelled or purged, and the removal of its worktree if that was requested."""

    session: Session
    worktree: Removed | None


class WorktreeSessions:
    """Operations on a session and its worktree at once."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        worktrees: Worktrees,
        sessions: Sessions,
        control: Control,
        purging: Purging,
    ) -> None:
        self._store = store
        self._settings = settings
        self._worktrees = worktrees
        self._sessions = sessions
        self._control = control
        self._purging = purging

    async def create(self, caller: Caller, new: NewSession, *, expected_preset: str | None = None) -> OpenedSession:
        """Creates a session, and first its worktree if one is requested; one idempotency key covers both. Then ends the
        agent of the session that was completed to make room for it."""
        opened = await self._create(caller, new, expected_preset)
        await self._control.end_agent_of(opened.made_room)
        return opened

    async def _create(self, caller: Caller, new: NewSession, expected_preset: str | None) -> OpenedSession:
        if new.worktree is None:
            return await self._sessions.create(caller, new, expected_preset=expected_preset)
        earlier = await self._sessions.opened_before(caller, new)
        if earlier is not None:
            return earlier
        if new.worktree_id is not None or new.repo_id is None:
            raise Invalid("repo_missing", "A new worktree needs its repo: send `repoId`, and no `worktreeId`.")
        filled = await self._sessions.filled_in(new, expected_preset)
        self._sessions.check(caller, filled)
        await self._store.write(lambda change: self._admissible(change, caller, filled))
        # Without a key, no request can find the worktree again: it carries a mark until its session exists.
        mark = for_branch.marked(new_id()) if caller.idempotency_key is None else None
        maker, scope = (caller, SCOPE) if mark is None else (mark, for_branch.MARKS)
        with for_branch.held(self._worktrees, mark):
            async with self._made(maker, scope, new, caller) as worktree:
                folder = for_branch.BranchFolder(worktree.id, worktree.path, mark)
                return await self._sessions.create(
                    caller,
                    new,
                    worktree,
                    lambda change: for_branch.clear_mark(change, folder),
                    expected_preset=expected_preset,
                )

    async def _admissible(self, change: Change, caller: Caller, new: NewSession) -> None:
        """Raises if the session would be refused, before the worktree is created."""
        await check_admission(change, self._settings, caller, make_room=new.make_room)
        for server_id in new.mcp_server_ids or []:
            await find_id(change.tx, "mcp_servers", server_id)

    @contextlib.asynccontextmanager
    async def _made(self, caller: Caller, scope: str, new: NewSession, by: Caller) -> AsyncGenerator[Worktree]:
        """Creates a worktree, and discards it if the session is not created."""
        assert new.worktree is not None
        assert new.repo_id is not None
        new_worktree = NewWorktree(new.repo_id, new.worktree.branch, new.worktree.path, new.worktree.base)
        made = await self._worktrees.create(caller, new_worktree, scope, by=by)
        try:
            yield made
        except BaseException:
            await self._worktrees.discard(caller, scope, made)
            raise

    async def end(
        self, caller: Caller, session_id: str, *, purge: bool, remove_worktree: bool = False, force: bool = False
    ) -> Ended:
        """Cancels or purges a session; removes its worktree too if requested and nothing would be lost."""
        session = await self._sessions.get(session_id)
        removed: Removed | None = None
        if remove_worktree:
            if session.worktree_id is None:
                raise Invalid("no_worktree", f"Session {session.id} does not work in a worktree.")
            # Checked first, so that a refused session is not cancelled.
            if purge:
                await self._purging.check(session.id)
            await self._worktrees.check_removal(session.worktree_id, force=force, besides=session.id)
            session = await self._control.cancel(caller, session.id)
            assert session.worktree_id is not None
            removed = await self._worktrees.remove(caller, session.worktree_id, force=force)
        if purge:
            return Ended(await self._purging.purge(caller, session.id), removed)
        return Ended(session if removed else await self._control.cancel(caller, session.id), removed)
