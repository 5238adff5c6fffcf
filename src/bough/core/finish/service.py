"""Offers every operation that finishes work, each with a preview. Builds its plan and carries it out under the locks of
the folders concerned, to the end, also if the caller stops waiting."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import Any

import msgspec
import structlog

from bough.core.checkpoints.take import Checkpoints
from bough.core.finish.commit import ProposedMessage, plan_commit, propose_message
from bough.core.finish.folder import WorktreeFolder, busy_below, find_rows, read_folder, refuse_turns, written_folders
from bough.core.finish.merge import MergeTarget, find_target, last_merge, plan_merge, plan_undo
from bough.core.finish.once import Once
from bough.core.finish.overlap import Overlaps
from bough.core.finish.pull_request import plan_pull_request
from bough.core.finish.push import plan_push
from bough.core.finish.requests import (
    CommitBody,
    FinishAction,
    FinishBody,
    Finished,
    FinishPlan,
    FinishRefusal,
    MergeBody,
    PullRequestBody,
    PushBody,
    UndoMergeBody,
    UpdateBody,
)
from bough.core.finish.state import FinishState, read_finish_state
from bough.core.finish.update import fetch_base, plan_update
from bough.core.sessions.tasks import Tasks
from bough.core.store import records as sessions
from bough.core.store.idempotency import RecordScope
from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.core.worktrees import records
from bough.errors import Busy, Conflict, Denied
from bough.git.repo_lock import alone
from bough.git.worktrees import common_folder
from bough.model.access.audit import AuditAction
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller
from bough.storage.backend import Tx

log = structlog.get_logger("bough.finish")

# How long the server's end waits for operations; what git has begun, it completes or leaves as it was.
CLOSE_WITHIN = 10.0
_AUDITED: dict[FinishAction, AuditAction] = {
    "commit": "worktree.committed",
    "update": "worktree.updated",
    "merge": "worktree.merged",
    "undo-merge": "worktree.merge_undone",
    "push": "worktree.pushed",
    "pull-request": "worktree.pull_request",
}

Plan = Callable[[WorktreeFolder], Awaitable[FinishPlan]]
FindFolder = Callable[[WorktreeFolder], Awaitable[str | None]]


class Finishing:
    """Commits, updates, merges and pushes the work in worktrees, and opens pull requests."""

    def __init__(self, store: Store, checkpoints: Checkpoints, tasks: Tasks) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._tasks = tasks
        self._overlaps = Overlaps()
        self._once = Once(store)
        self._running: set[asyncio.Task[Finished]] = set()

    async def state(self, worktree_id: str) -> FinishState:
        """Returns how far the work is, with a proposed commit message."""

        async def work(tx: Tx) -> tuple[Worktree, Repo, list[Worktree], list[str], ProposedMessage]:
            row, repo = await find_rows(tx, worktree_id)
            others = await tx.all(WORKTREES.of_repo, Worktree, repo_id=repo.id)
            running = sorted({task.session_id for task in await busy_below(tx, row.path)})
            return row, repo, others, running, await propose_message(tx, row.id, row.name)

        row, repo, others, running, proposed = await self._store.read(work)
        await self._checkpoints.check_folder(row.path)
        folder = await self._read(row, repo)
        overlaps = await self._overlaps.find(row, [other for other in others if await self._is_inside(other)])
        return await read_finish_state(folder, overlaps, running, proposed)

    async def look(self, worktree_id: str) -> WorktreeFolder:
        """Returns a worktree's branch and last commit."""
        row, repo = await self._store.read(lambda tx: find_rows(tx, worktree_id))
        await self._checkpoints.check_folder(row.path)
        return await self._read(row, repo)

    async def _is_inside(self, row: Worktree) -> bool:
        """Returns whether a worktree can be read: it is ready, and leads nowhere else."""
        try:
            await self._checkpoints.check_folder(row.path)
        except Denied:
            return False
        return row.status == "ready"

    async def commit(self, caller: Caller, worktree_id: str, body: CommitBody) -> Finished:
        """Commits chosen files."""

        async def plan(folder: WorktreeFolder) -> FinishPlan:
            foresee = functools.partial(self._once.foresee, caller, _scope("commit", folder.row.id), _without_key(body))
            proposed, by_agent = await self._proposed(folder), caller.kind == "session"
            return await plan_commit(folder, body, proposed, foresee, by_agent=by_agent)

        return await self._finish(caller, worktree_id, "commit", body, plan)

    async def update(self, caller: Caller, worktree_id: str, body: UpdateBody) -> Finished:
        """Brings new commits of the base into the worktree's branch."""

        async def plan(folder: WorktreeFolder) -> FinishPlan:
            if body.on_conflict == "agent":
                await self._session(folder.row.id, body.session_id)
            fetched = shas[0] if shas else None
            return await plan_update(
                folder, body, lambda text: self._prompt(caller, folder.row.id, body, text), fetched
            )

        async def before(folder: WorktreeFolder) -> None:
            shas.append(await fetch_base(folder, body))

        shas: list[str] = []
        return await self._finish(caller, worktree_id, "update", body, plan, before=before if body.fetch else None)

    async def merge(self, caller: Caller, worktree_id: str, body: MergeBody) -> Finished:
        """Merges the worktree's branch into its base."""

        async def plan(folder: WorktreeFolder) -> FinishPlan:
            target = await find_target(folder, body.into)
            await self._check_target(caller, target, body)
            foresee = functools.partial(self._once.foresee, caller, _scope("merge", folder.row.id), _without_key(body))
            return await plan_merge(folder, target, body, await self._proposed(folder), foresee)

        other = functools.partial(_checkout, into=body.into)
        return await self._finish(caller, worktree_id, "merge", body, plan, other)

    async def undo_merge(self, caller: Caller, worktree_id: str, body: UndoMergeBody) -> Finished:
        """Undoes the last merge of a worktree."""

        async def plan(folder: WorktreeFolder) -> FinishPlan:
            last = await last_merge(folder)
            if last is None:
                raise Conflict("nothing_to_undo", f"Worktree {folder.row.name} has no merge that could be undone.")
            target = await find_target(folder, last.branch)
            await self._check_target(caller, target, body)
            return await plan_undo(folder, last, target, body)

        return await self._finish(caller, worktree_id, "undo-merge", body, plan, _last_checkout)

    async def push(self, caller: Caller, worktree_id: str, body: PushBody) -> Finished:
        """Pushes the worktree's branch. Takes no locks, because it changes no file and the network may be slow."""
        return await self._finish(
            caller, worktree_id, "push", body, lambda folder: plan_push(folder, body), locked=False
        )

    async def pull_request(self, caller: Caller, worktree_id: str, body: PullRequestBody) -> Finished:
        """Pushes the worktree's branch, and opens or updates its pull request. Takes no locks, like a push."""

        async def plan(folder: WorktreeFolder) -> FinishPlan:
            row = folder.row
            proposed = await self._store.read(lambda tx: propose_message(tx, row.id, row.name))
            return await plan_pull_request(folder, body, proposed)

        return await self._finish(caller, worktree_id, "pull-request", body, plan, locked=False)

    async def close(self) -> None:
        """Waits for operations that nobody waits for anymore, and cancels those that take too long."""
        if not self._running:
            return
        _, late = await asyncio.wait(self._running, timeout=CLOSE_WITHIN)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    # Steps of every operation

    async def _finish(
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
        scope, request = _scope(action, row.id), _without_key(body)

        async def work() -> Finished:
            async with self._once.alone(caller, scope):
                earlier = await self._store.stored_answer(caller, scope, request, Finished)
                if earlier is not None:
                    return earlier
                if before is not None:
                    await before(await self._read(row, repo))
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

    async def _preview(
        self, caller: Caller, row: Worktree, repo: Repo, action: FinishAction, body: FinishBody, plan: Plan
    ) -> Finished:
        try:
            if not body.force:
                await self._store.read(lambda tx: refuse_turns(tx, row.path, caller))
            folder = await self._read(row, repo)
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
        beside = await other(await self._read(row, repo)) if other is not None else None
        async with contextlib.AsyncExitStack() as stack:
            # In the same order everywhere: two operations on the same folders would wait for each other for ever.
            folders = sorted({path for path in (beside, row.path) if path})
            for path in folders:
                await stack.enter_async_context(self._checkpoints.gate(path))
            if not body.force:
                await self._store.read(lambda tx: refuse_turns(tx, row.path, caller))
            for path in folders:
                await stack.enter_async_context(self._checkpoints.alone(path))
            await stack.enter_async_context(alone(await common_folder(repo.path)))
            yield await self._read(*await self._store.read(lambda tx: find_rows(tx, row.id)))

    @contextlib.asynccontextmanager
    async def _beside(
        self, caller: Caller, row: Worktree, repo: Repo, body: FinishBody, _other: FindFolder | None
    ) -> AsyncGenerator[WorktreeFolder]:
        if not body.force:
            await self._store.read(lambda tx: refuse_turns(tx, row.path, caller))
        yield await self._read(row, repo)

    async def _read(self, row: Worktree, repo: Repo) -> WorktreeFolder:
        return await read_folder(row, repo, await self._store.read(written_folders))

    async def _record(
        self, caller: Caller, scope: RecordScope, request: FinishBody, row: Worktree, planned: FinishPlan
    ) -> Finished:
        """Stores the answer, what changed in the worktree's row, and the audit entry."""

        async def work(change: Change) -> Finished:
            finished = planned.finished
            await records.update(change, row.id, **{"branch": finished.branch or row.branch, **planned.columns})
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

    async def _check_target(self, caller: Caller, target: MergeTarget, body: FinishBody) -> None:
        if target.checkout is not None:
            path = target.checkout
            await self._checkpoints.check_folder(path)
            if not body.force:
                await self._store.read(lambda tx: refuse_turns(tx, path, caller))

    async def _proposed(self, folder: WorktreeFolder) -> str:
        row = folder.row
        return (await self._store.read(lambda tx: propose_message(tx, row.id, row.name))).message

    async def _session(self, worktree_id: str, wanted: str | None) -> str:
        """Returns the session to prompt, or raises `Conflict` if none works there."""
        if wanted is not None:
            session = await self._store.read(lambda tx: sessions.session(tx, wanted))
            if session.worktree_id != worktree_id:
                raise Conflict("no_session", f"Session {session.id} does not work in this worktree.")
            return session.id
        newest = await self._store.read(lambda tx: tx.value(WORKTREES.newest_session, id=worktree_id))
        if newest is None:
            raise Conflict("no_session", "No active session works in this worktree. Start or resume one first.")
        return str(newest)

    async def _prompt(self, caller: Caller, worktree_id: str, body: UpdateBody, text: str) -> tuple[str, str]:
        session_id = await self._session(worktree_id, body.session_id)
        # A key of its own: a request that is repeated after a kill must not send its prompt twice.
        key = f"{caller.idempotency_key}:update" if caller.idempotency_key is not None else None
        task = await self._tasks.prompt(msgspec.structs.replace(caller, idempotency_key=key), session_id, text)
        return task.session_id, task.id


def _scope(action: FinishAction, worktree_id: str) -> RecordScope:
    return RecordScope(f"worktrees.{action}", "worktrees", worktree_id)


def _without_key(body: FinishBody) -> FinishBody:
    return msgspec.structs.replace(body, idempotency_key=None)


async def _checkout(folder: WorktreeFolder, into: str | None) -> str | None:
    return (await find_target(folder, into)).checkout


async def _last_checkout(folder: WorktreeFolder) -> str | None:
    last = await last_merge(folder)
    return (await find_target(folder, last.branch)).checkout if last is not None else None
