"""Sweeps worktrees: cleans up all those whose work is merged and in which nobody works, after a preview."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from bough.core.finish.cleanup.service import Cleanups
from bough.core.finish.folder import read_folder, written_folders
from bough.core.finish.requests import CleanupBody
from bough.core.store.short_ids import find_id
from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.worktrees import records
from bough.core.worktrees.records import SessionUse
from bough.core.worktrees.removal import refusals
from bough.errors import BoughError, Conflict, Unavailable
from bough.git.paths import is_folder
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller
from bough.storage.backend import Tx

SCOPE = "worktrees.sweep"
# At most this many worktrees are looked at, the newest ones.
MOST_SWEPT = 300
# Advice of a cleanup that a sweep cannot follow: it never forces.
_FORCE = re.compile(r",? or send force: true[^.]*")


class SweepBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Cleans up the worktrees that are merged, without active sessions and uncommitted files: all of them, those of
    the repo `repoId`, or of these only those in `worktreeIds`. `dryRun` only lists them."""

    repo_id: str | None = None
    worktree_ids: list[str] | None = None
    dry_run: bool = False
    idempotency_key: str | None = None


class SweptWorktree(msgspec.Struct, rename="camel"):
    """A worktree that is or would be removed, or why it stays."""

    worktree_id: str
    name: str
    branch: str | None
    outcome: Literal["removed", "removable", "kept"]
    steps: list[str] = []
    reason: str | None = None


class Swept(msgspec.Struct, rename="camel"):
    """Lists what a sweep did or, as a preview, would do. Everything that it removes can be recovered."""

    dry_run: bool
    worktrees: list[SweptWorktree]


class Sweeps:
    """Finds and cleans up worktrees that nobody needs anymore."""

    def __init__(self, store: Store, cleanups: Cleanups) -> None:
        self._store = store
        self._cleanups = cleanups

    async def sweep(self, caller: Caller, body: SweepBody) -> Swept:
        """Cleans up what can go, or lists it. One that is refused does not keep the others."""
        request = msgspec.structs.replace(body, idempotency_key=None)
        earlier = await self._store.stored_answer(caller, SCOPE, request, Swept)
        if earlier is not None:
            return earlier

        async def work(tx: Tx) -> list[tuple[Worktree, Repo]]:
            repo_id = await find_id(tx, "repos", body.repo_id) if body.repo_id is not None else None
            rows = await tx.all(WORKTREES.live, Worktree, limit=MOST_SWEPT)
            chosen = None
            if body.worktree_ids is not None:
                chosen = {(await records.worktree(tx, item)).id for item in body.worktree_ids}
            rows = [row for row in rows if repo_id in (None, row.repo_id) and (chosen is None or row.id in chosen)]
            return [(row, await records.repo_of(tx, row)) for row in rows]

        unkeyed = msgspec.structs.replace(caller, idempotency_key=None)
        swept = Swept(body.dry_run, [])
        for row, repo in await self._store.read(work):
            swept.worktrees.append(await self._sweep(unkeyed, row, repo, dry_run=body.dry_run))

        async def answer(_change: Change) -> Swept:
            return swept

        return swept if body.dry_run else await self._store.write_once(caller, SCOPE, request, Swept, answer)

    async def _sweep(self, caller: Caller, row: Worktree, repo: Repo, *, dry_run: bool) -> SweptWorktree:
        item = SweptWorktree(row.id, row.name, row.branch, "kept")
        try:
            request = CleanupBody(dry_run=True, end_sessions=False, expected_head=await self._head(row, repo))
            preview = await self._cleanups.clean_up(caller, row.id, request)
            if preview.refusal is not None:
                item.reason = _FORCE.sub("", preview.refusal.message)
                return item
            item.outcome, item.steps = "removable", preview.steps
            if not dry_run:
                # Refused if anything was committed, or a session started, since.
                await self._cleanups.clean_up(caller, row.id, msgspec.structs.replace(request, dry_run=False))
                item.outcome = "removed"
        except Unavailable:
            raise
        except BoughError as error:
            item.outcome, item.steps, item.reason = "kept", [], _FORCE.sub("", error.message)
        return item

    async def _head(self, row: Worktree, repo: Repo) -> str:
        """Returns the worktree's last commit; raises `Conflict` for one that a sweep leaves alone."""
        if not row.made_by_bough:
            raise Conflict("not_merged", "Bough did not create it.")
        uses = await self._store.read(
            lambda tx: tx.all(WORKTREES.active_sessions, SessionUse, id=row.id, path=row.path)
        )
        if error := refusals.in_use(row, uses):
            raise error
        if not is_folder(row.path):
            raise Conflict("not_merged", "Its folder no longer exists. Remove it from the list.")
        folder = await read_folder(row, repo, await self._store.read(written_folders))
        if folder.head == row.base_sha:
            raise Conflict("not_merged", "Nothing was committed in it yet.")
        return folder.head
