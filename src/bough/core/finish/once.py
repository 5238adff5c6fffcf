"""Carries out a request with an idempotency key once: while the first one is under way, and after a kill between git's
work and its record."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from weakref import WeakValueDictionary

from bough.core.finish.folder import WorktreeFolder
from bough.core.finish.requests import FinishBody, Finished, FinishPlan, nothing
from bough.core.store.idempotency import RecordScope
from bough.core.store.transactions import Change, Store
from bough.git.run import git
from bough.git.worktrees import resolve
from bough.model.session import Caller

# Stores the answer of an operation, with its commit, before a branch moves there.
Foresee = Callable[[Finished], Awaitable[None]]


class Once:
    """Knows which requests with a key are under way, and the commits that they were about to make."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._locks: WeakValueDictionary[tuple[str, str, RecordScope, str], asyncio.Lock] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def alone(self, caller: Caller, scope: RecordScope) -> AsyncGenerator[None]:
        """Lets requests with the same key wait for each other."""
        if caller.idempotency_key is None:
            yield
            return
        name = (caller.kind, str(caller.own_id), scope, caller.idempotency_key)
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        async with lock:
            yield

    async def foresee(self, caller: Caller, scope: RecordScope, request: FinishBody, finished: Finished) -> None:
        """Stores the answer that the request will have if its commit is found in the branch later."""

        async def work(_change: Change) -> Finished:
            return finished

        if caller.idempotency_key is not None:
            scope = _foreseen(scope)
            await self._store.write_once(caller, scope, request, Finished, work)
            await self._store.replace_answer(caller, scope, finished)

    async def plan(
        self, caller: Caller, scope: RecordScope, request: FinishBody, folder: WorktreeFolder
    ) -> FinishPlan | None:
        """Returns a plan that does nothing if an earlier request with this key moved its branch, but was not
        recorded."""
        finished = await self._store.stored_answer(caller, _foreseen(scope), request, Finished)
        if finished is None or finished.sha is None:
            return None
        tip = folder.head
        if finished.action == "merge":
            tip = await resolve(folder.repo.path, f"refs/heads/{finished.base}")
        if tip is None or await resolve(folder.repo.path, finished.sha) is None:
            return None
        common = await git(folder.repo.path, "merge-base", finished.sha, tip, fine=(0, 1))
        return FinishPlan(finished, nothing) if common.strip() == finished.sha else None


def _foreseen(scope: RecordScope) -> RecordScope:
    return scope._replace(action=f"{scope.action}.foreseen")
