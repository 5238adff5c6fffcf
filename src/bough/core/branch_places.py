"""Where a branch works: with the session that it comes from, or in a worktree of its own that begins with exactly the
files of that moment, uncommitted and untracked ones included (B2). Making worktrees is `worktrees`."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator

import msgspec

from bough.core import checkpoints
from bough.core.checkpoints import Checkpoints
from bough.core.repos import REPOS
from bough.core.store import Store
from bough.core.worktree_rows import NewWorktree
from bough.core.worktrees import Worktrees
from bough.errors import Conflict, Invalid
from bough.git import recovery
from bough.git.snapshot import TooMuch
from bough.model.ids import new_id
from bough.model.repo import Repo
from bough.model.session import Caller, Session

SCOPE = "sessions.branch.worktree"
# What of a title becomes part of a branch's name.
LONGEST_SLUG = 40


class Place(msgspec.Struct):
    """Where a branch works."""

    worktree_id: str | None
    cwd: str


class Start(msgspec.Struct, frozen=True):
    """The files of a moment as a commit, and the commit that they were on top of."""

    sha: str
    head: str


class BranchPlaces:
    """Makes room for branches."""

    def __init__(self, store: Store, worktrees: Worktrees, files: Checkpoints) -> None:
        self._store = store
        self._worktrees = worktrees
        self._files = files

    @contextlib.asynccontextmanager
    async def made(
        self,
        caller: Caller,
        source: Session,
        branch: str | None,
        path: str | None,
        title: str,
        task_id: str | None,
        start: Start | None = None,
    ) -> AsyncGenerator[Place]:
        """A worktree with the files that the session has now, had after a task, or those of `start`; taken away again
        if the branch comes to nothing."""
        repo = await self._repo(source)
        start = start or await self._state(source, task_id)
        name = branch or f"{_slug(title)}-{new_id()[-8:]}"
        worktree = await self._worktrees.create(caller, NewWorktree(repo.id, name, path, start.head), SCOPE)
        try:
            await recovery.restore(worktree.path, start.sha)
            yield Place(worktree.id, worktree.path)
        except BaseException:
            # What is in it is a copy of what is elsewhere.
            await self._worktrees.remove(worktree.id, force=True, branch="delete" if worktree.branch_made else "keep")
            await self._store.forget_answer(caller, SCOPE)
            raise

    @contextlib.asynccontextmanager
    async def together(
        self, caller: Caller, source: Session, titles: list[str]
    ) -> AsyncGenerator[tuple[Start, list[Place]]]:
        """A worktree for each title, made side by side, all with the files of one moment; all of them or none."""
        # One key would stand for several worktrees.
        caller = msgspec.structs.replace(caller, idempotency_key=None)
        await self._repo(source)
        start = await self._state(source, None)
        async with contextlib.AsyncExitStack() as stack:
            making = [
                stack.enter_async_context(self.made(caller, source, None, None, title, None, start)) for title in titles
            ]
            places: list[Place] = []
            # All are waited for before any is taken away again.
            for one in await asyncio.gather(*making, return_exceptions=True):
                if isinstance(one, BaseException):
                    raise one
                places.append(one)
            yield start, places

    async def _repo(self, source: Session) -> Repo:
        repo = await self._store.read(lambda tx: tx.one(REPOS.get, Repo, id=source.repo_id))
        assert repo is not None
        if repo.kind != "git":
            raise Invalid("not_a_repository", f"{repo.path} is no git repository: a worktree cannot be made of it.")
        return repo

    async def _state(self, source: Session, task_id: str | None) -> Start:
        if task_id is not None:
            moment = await self._store.read(lambda tx: checkpoints.moments(tx, task_id))
            kept = moment.after
            if kept is None or kept.sha is None or kept.head is None:
                why = kept.note if kept is not None and kept.note else "none was taken"
                raise Conflict("no_checkpoint", f"The files after task {task_id} are not kept: {why}.")
            return Start(kept.sha, kept.head)
        try:
            shot = await self._files.snapshot(source.cwd)
        except TooMuch as error:
            raise Conflict("no_checkpoint", f"The files at {source.cwd} cannot be copied: {error}") from error
        if shot.head is None:
            raise Conflict("no_commit", f"{source.cwd} has no commit yet, which a worktree needs. Make one first.")
        return Start(shot.sha, shot.head)


def _slug(title: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return words[:LONGEST_SLUG].strip("-") or "branch"
