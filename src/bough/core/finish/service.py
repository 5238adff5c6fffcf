"""Offers every operation that finishes work, each with a preview: builds its plan, which `operations` carries out."""

from __future__ import annotations

import functools

from bough.core.checkpoints.take import Checkpoints
from bough.core.finish.commit import ProposedMessage, plan_commit, propose_message
from bough.core.finish.conflict_prompt import find_resolver, prompt_resolver
from bough.core.finish.folder import WorktreeFolder, busy_below, find_rows, refuse_turns
from bough.core.finish.last_merge import Merges
from bough.core.finish.merge import MergeTarget, find_target, plan_merge, plan_undo
from bough.core.finish.operations import Operations
from bough.core.finish.overlap import Overlaps
from bough.core.finish.pull_request import plan_pull_request
from bough.core.finish.push import plan_push
from bough.core.finish.remote_branches import RemoteBranches
from bough.core.finish.requests import (
    CommitBody,
    FinishBody,
    Finished,
    FinishPlan,
    MergeBody,
    PullRequestBody,
    PushBody,
    UndoMergeBody,
    UpdateBody,
)
from bough.core.finish.state import FinishState, read_finish_state
from bough.core.finish.update import fetch_base, plan_update
from bough.core.sessions.tasks import Tasks
from bough.core.store.sql import CLEANUPS, WORKTREES
from bough.core.store.transactions import Store
from bough.errors import Conflict, Denied
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller
from bough.storage.backend import Tx


class Finishing:
    """Commits, updates, merges and pushes the work in worktrees, and opens pull requests."""

    def __init__(self, store: Store, checkpoints: Checkpoints, tasks: Tasks) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._tasks = tasks
        self._overlaps = Overlaps()
        self._operations = Operations(store, checkpoints)
        self._remote_branches = RemoteBranches(store)
        self._merges = Merges(store)

    async def state(self, worktree_id: str) -> FinishState:
        """Returns how far the work is, with a proposed commit message."""

        async def work(tx: Tx) -> tuple[Worktree, Repo, list[Worktree], list[str], ProposedMessage, str | None]:
            row, repo = await find_rows(tx, worktree_id)
            others = await tx.all(WORKTREES.of_repo, Worktree, repo_id=repo.id)
            running = sorted({task.session_id for task in await busy_below(tx, row.path)})
            failure = await tx.value(CLEANUPS.cleanup_error, worktree_id=row.id)
            return row, repo, others, running, await propose_message(tx, row.id, row.name), failure

        row, repo, others, running, proposed, failure = await self._store.read(work)
        await self._checkpoints.check_folder(row.path)
        folder = await self._operations.read(row, repo)
        overlaps = await self._overlaps.find(row, [other for other in others if await self._is_inside(other)])
        return await read_finish_state(folder, overlaps, running, proposed, failure, self._store)

    async def look(self, worktree_id: str) -> WorktreeFolder:
        """Returns a worktree's branch and last commit."""
        row, repo = await self._store.read(lambda tx: find_rows(tx, worktree_id))
        await self._checkpoints.check_folder(row.path)
        return await self._operations.read(row, repo)

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
            foresee = self._operations.foresee(caller, "commit", folder.row.id, body)
            proposed, by_agent = await self._proposed(folder), caller.kind == "session"
            return await plan_commit(folder, body, proposed, foresee, by_agent=by_agent)

        return await self._operations.run(caller, worktree_id, "commit", body, plan)

    async def update(self, caller: Caller, worktree_id: str, body: UpdateBody) -> Finished:
        """Brings new commits of the base into the worktree's branch."""

        async def plan(folder: WorktreeFolder) -> FinishPlan:
            if body.on_conflict == "agent":
                await find_resolver(self._store, folder.row.id, body.session_id)
            fetched = shas[0] if shas else None
            prompt = functools.partial(prompt_resolver, self._store, self._tasks, caller, folder.row.id, body)
            return await plan_update(folder, body, prompt, fetched)

        async def before(folder: WorktreeFolder) -> None:
            noting = None if caller.kind == "session" else self._remote_branches
            shas.append(await fetch_base(folder, body, noting))

        shas: list[str] = []
        fetch = before if body.fetch else None
        return await self._operations.run(caller, worktree_id, "update", body, plan, before=fetch)

    async def merge(self, caller: Caller, worktree_id: str, body: MergeBody) -> Finished:
        """Merges the worktree's branch into its base."""

        async def plan(folder: WorktreeFolder) -> FinishPlan:
            target = await find_target(folder, body.into)
            await self._check_target(caller, target, body)
            foresee = self._operations.foresee(caller, "merge", folder.row.id, body)
            return await plan_merge(folder, target, body, await self._proposed(folder), foresee, self._merges)

        other = functools.partial(_checkout, into=body.into)
        return await self._operations.run(caller, worktree_id, "merge", body, plan, other)

    async def undo_merge(self, caller: Caller, worktree_id: str, body: UndoMergeBody) -> Finished:
        """Undoes the last merge of a worktree."""

        async def plan(folder: WorktreeFolder) -> FinishPlan:
            last = await self._merges.last(folder)
            if last is None:
                raise Conflict("nothing_to_undo", f"Worktree {folder.row.name} has no merge that could be undone.")
            target = await find_target(folder, last.branch)
            await self._check_target(caller, target, body)
            return await plan_undo(folder, last, target, body, self._merges)

        async def last_checkout(folder: WorktreeFolder) -> str | None:
            last = await self._merges.last(folder)
            return (await find_target(folder, last.branch)).checkout if last is not None else None

        return await self._operations.run(caller, worktree_id, "undo-merge", body, plan, last_checkout)

    async def push(self, caller: Caller, worktree_id: str, body: PushBody) -> Finished:
        """Pushes the worktree's branch. Takes no locks, because it changes no file and the network may be slow."""
        return await self._operations.run(
            caller,
            worktree_id,
            "push",
            body,
            lambda folder: plan_push(folder, body, self._remote_branches),
            locked=False,
        )

    async def pull_request(self, caller: Caller, worktree_id: str, body: PullRequestBody) -> Finished:
        """Pushes the worktree's branch, and opens or updates its pull request. Takes no locks, like a push."""

        async def plan(folder: WorktreeFolder) -> FinishPlan:
            row = folder.row
            proposed = await self._store.read(lambda tx: propose_message(tx, row.id, row.name))
            return await plan_pull_request(folder, body, proposed, self._remote_branches)

        return await self._operations.run(caller, worktree_id, "pull-request", body, plan, locked=False)

    async def close(self) -> None:
        """Waits for operations that nobody waits for anymore, and cancels those that take too long."""
        await self._operations.close()

    async def _check_target(self, caller: Caller, target: MergeTarget, body: FinishBody) -> None:
        if target.checkout is not None:
            path = target.checkout
            await self._checkpoints.check_folder(path)
            if not body.force:
                await self._store.read(lambda tx: refuse_turns(tx, path, caller))

    async def _proposed(self, folder: WorktreeFolder) -> str:
        row = folder.row
        return (await self._store.read(lambda tx: propose_message(tx, row.id, row.name))).message


async def _checkout(folder: WorktreeFolder, into: str | None) -> str | None:
    return (await find_target(folder, into)).checkout
