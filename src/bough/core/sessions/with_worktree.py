"""Sessions that bring their worktree with them, and sessions that take it along when they go (W2). Each part by itself
is `sessions`, `control` and `worktrees`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator

import msgspec

from bough.core.sessions.control import Control
from bough.core.sessions.requests import NewSession, Opened
from bough.core.sessions.service import Sessions
from bough.core.state import session as lifecycle
from bough.core.store.short_ids import find_id
from bough.core.store.transactions import Change, Store
from bough.core.worktrees import for_branch as places
from bough.core.worktrees.records import NewWorktree
from bough.core.worktrees.remove import Removed
from bough.core.worktrees.service import Worktrees
from bough.errors import Invalid
from bough.model.ids import new_id
from bough.model.repo import Worktree
from bough.model.session import Caller, Session
from bough.settings import Settings

SCOPE = "sessions.create.worktree"


class Ended(msgspec.Struct):
    """A session that was cancelled or removed, and what became of its worktree if that went too."""

    session: Session
    worktree: Removed | None


class WorktreeSessions:
    """What concerns a session and its worktree at once."""

    def __init__(
        self, store: Store, settings: Settings, worktrees: Worktrees, sessions: Sessions, control: Control
    ) -> None:
        self._store = store
        self._settings = settings
        self._worktrees = worktrees
        self._sessions = sessions
        self._control = control

    async def create(self, caller: Caller, new: NewSession) -> Opened:
        """Opens a session, in a worktree that is made for it if one is asked for; one key stands for both."""
        if new.worktree is None:
            return await self._sessions.create(caller, new)
        kept = await self._sessions.opened_before(caller, new)
        if kept is not None:
            return kept
        if new.worktree_id is not None or new.repo_id is None:
            raise Invalid("repo_missing", "A new worktree needs the repository (repoId) that it is of, and no other.")
        self._sessions.check(new)
        await self._store.write(lambda change: self._admissible(change, new))
        # Without a key nobody can ask for the worktree again: it carries a mark until its session is there.
        mark = places.marked(new_id()) if caller.idempotency_key is None else None
        maker, scope = (caller, SCOPE) if mark is None else (mark, places.MARKS)
        async with self._made(maker, scope, new) as worktree:
            place = places.Place(worktree.id, worktree.path, mark)
            return await self._sessions.create(caller, new, worktree, lambda change: places.filled(change, place))

    async def _admissible(self, change: Change, new: NewSession) -> None:
        """What would be refused afterwards is refused before anything is made."""
        await lifecycle.admit(change, self._settings)
        for one in new.mcp_server_ids:
            await find_id(change.tx, "mcp_servers", one)

    @contextlib.asynccontextmanager
    async def _made(self, caller: Caller, scope: str, new: NewSession) -> AsyncGenerator[Worktree]:
        """A new worktree, taken away again if the session is not opened."""
        assert new.worktree is not None
        assert new.repo_id is not None
        wanted = NewWorktree(new.repo_id, new.worktree.branch, new.worktree.path, new.worktree.base)
        made = await self._worktrees.create(caller, wanted, scope)
        try:
            yield made
        except BaseException:
            await self._worktrees.discard(caller, scope, made)
            raise

    async def end(
        self, caller: Caller, session_id: str, *, purge: bool, remove_worktree: bool = False, force: bool = False
    ) -> Ended:
        """Cancels a session, or removes it for good; its worktree goes too if that is wanted and nothing is lost."""
        session = await self._sessions.get(session_id)
        removed: Removed | None = None
        if remove_worktree:
            if session.worktree_id is None:
                raise Invalid("no_worktree", f"Session {session.id} works in no worktree that could be removed.")
            # Looked at first, so that what is refused has not been cancelled.
            if purge:
                await self._control.check_purge(session.id)
            await self._worktrees.check_removal(session.worktree_id, force=force, besides=session.id)
            session = await self._control.cancel(caller, session.id)
            assert session.worktree_id is not None
            removed = await self._worktrees.remove(session.worktree_id, force=force)
        if purge:
            return Ended(await self._control.purge(caller, session.id), removed)
        return Ended(session if removed else await self._control.cancel(caller, session.id), removed)
