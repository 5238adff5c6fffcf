"""Carries out an operation's plan under the locks of the folders concerned, and records it: to the end, also if the
caller stops waiting. Previews change nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import Any

from bough.core.checkpoints.take import Checkpoints
from bough.core.finish.folder import WorktreeFolder, find_rows, read_folder, refuse_turns, written_folders
from bough.core.finish.once import Foresee, Once
from bough.core.finish.requests import FinishAction, FinishBody, Finished, FinishPlan, FinishRefusal, scope_of, unkeyed
from bough.core.store.idempotency import RecordScope
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.core.worktrees import records
from bough.errors import Busy, Conflict, Denied
from bough.git.repo_lock import alone
from bough.git.worktrees import common_folder
from bough.model.access.audit import AuditAction
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller

# How long the server's end waits for operations; what git has begun, it completes or leaves as it was.
CLOSE_WITHIN = 10.0
_AUDITED: dict[FinishAction, AuditAction] = {
    "commit": "worktree.committed",
    "update": "worktree.updated",
    "merge": "worktree.merged",
    "undo-merge": "worktree.merge_undone",
    "push": "worktree.pushed",
    "pull-request": "worktree.pull_request",
    "cleanup": "worktree.cleaned_up",
}

Plan = Callable[[WorktreeFolder], Awaitable[FinishPlan]]
FindFolder = Callable[[WorktreeFolder], Awaitable[str | None]]


class Operations:
    """Runs the operations that finish work, and knows those that are under way."""

    def __init__(self, store: Store, checkpoints: Checkpoints) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._once = Once(store)
        self._running: set[asyncio.Task[Finished]] = set()

    async def run(
        self,
        caller: Caller,
        worktree_id: str,
        action: FinishAction,
        body: FinishBody,
        plan: Plan,
        other: FindFolder | None = None,
        *,
        before: Callable[[WorktreeFolder], Awaitable[None]] | None = None,
        locked: bool = True,
    ) -> Finished:
        """Carries out an operation, or previews it. `other` finds a further folder that it changes; `before` runs
        outside the locks."""
        row, repo = await self._store.read(lambda tx: find_rows(tx, worktree_id))
        for path in (row.path, repo.path):
            await self._checkpoints.check_folder(path)
        if body.dry_run:
            return await self._preview(caller, row, repo, action, body, plan)
        scope, request = scope_of(action, row.id), unkeyed(body)

        async def work() -> Finished:
            async with self._once.alone(caller, scope):
                earlier = await self._store.stored_answer(caller, scope, request, Finished)
                if earlier is not None:
                    return earlier
                if before is not None:
                    await before(await self.read(row, repo))
                lock = self._alone if locked else self._beside
                async with lock(caller, row, repo, body, other) as folder:
                    planned = await self._once.plan(caller, scope, request, folder)
                    if planned is None:
                        folder.refuse_changed(body)
                        planned = await plan(folder)
                    await planned.act()
                # The files are changed: a repeated request would not find out what was done.
                done = planned
                return await until_available(
                    lambda: self._record(caller, scope, request, row, done), f"a {action}", worktree=row.id
                )

        return await self._shielded(work(), f"{action} {row.id}")

    async def read(self, row: Worktree, repo: Repo) -> WorktreeFolder:
        """Reads a worktree's branch and last commit."""
        return await read_folder(row, repo, await self._store.read(written_folders))

    def foresee(self, caller: Caller, action: FinishAction, worktree_id: str, body: FinishBody) -> Foresee:
        """Returns the function that stores an operation's answer before its branch moves."""
        scope, request = scope_of(action, worktree_id), unkeyed(body)
        return lambda finished: self._once.foresee(caller, scope, request, finished)

    async def close(self) -> None:
        """Waits for operations that nobody waits for anymore, and cancels those that take too long."""
        if not self._running:
            return
        _, late = await asyncio.wait(self._running, timeout=CLOSE_WITHIN)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    # Steps of every operation

    async def _preview(
        self, caller: Caller, row: Worktree, repo: Repo, action: FinishAction, body: FinishBody, plan: Plan
    ) -> Finished:
        try:
            if not body.force:
                await self._store.read(lambda tx: refuse_turns(tx, row.path, caller))
            folder = await self.read(row, repo)
            folder.refuse_changed(body)
            return (await plan(folder)).finished
        except (Conflict, Denied, Busy) as error:
            preview = Finished(action, row.id, True, refusal=FinishRefusal.of(error))
            if error.code == "merge_conflict":
                preview.conflicts = error.details["files"]
            return preview

    @contextlib.asynccontextmanager
    async def _alone(
        self,
        caller: Caller,
        row: Worktree,
        repo: Repo,
        body: FinishBody,
        other: FindFolder | None,
    ) -> AsyncGenerator[WorktreeFolder]:
        """Keeps turns from starting in the folders concerned, and other work from the repository."""
        beside = await other(await self.read(row, repo)) if other is not None else None
        async with contextlib.AsyncExitStack() as stack:
            # In the same order everywhere: two operations on the same folders would wait for each other forever.
            folders = sorted({path for path in (beside, row.path) if path})
            for path in folders:
                await stack.enter_async_context(self._checkpoints.gate(path))
            if not body.force:
                await self._store.read(lambda tx: refuse_turns(tx, row.path, caller))
            for path in folders:
                await stack.enter_async_context(self._checkpoints.alone(path))
            await stack.enter_async_context(alone(await common_folder(repo.path)))
            yield await self.read(*await self._store.read(lambda tx: find_rows(tx, row.id)))

    @contextlib.asynccontextmanager
    async def _beside(
        self, caller: Caller, row: Worktree, repo: Repo, body: FinishBody, _other: FindFolder | None
    ) -> AsyncGenerator[WorktreeFolder]:
        if not body.force:
            await self._store.read(lambda tx: refuse_turns(tx, row.path, caller))
        yield await self.read(row, repo)

    async def _record(
        self, caller: Caller, scope: RecordScope, request: FinishBody, row: Worktree, planned: FinishPlan
    ) -> Finished:
        """Stores the answer, what changed in the worktree's row, and the audit entry."""

        async def work(change: Change) -> Finished:
            finished = planned.finished
            await records.update(change, row.id, **{"branch": finished.branch or row.branch, **planned.columns})
            if planned.store is not None:
                await planned.store(change)
            change.audit(
                caller,
                _AUDITED[finished.action],
                subject_id=row.id,
                branch=finished.branch,
                base=finished.base,
                sha=finished.sha,
                **({"url": finished.pull_request.url} if finished.pull_request is not None else {}),
            )
            return finished

        return await self._store.write_once(caller, scope, request, Finished, work)

    async def _shielded(self, work: Coroutine[Any, Any, Finished], name: str) -> Finished:
        task = asyncio.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)
