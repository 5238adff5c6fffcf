"""Finds how far the work in all live worktrees is."""

from __future__ import annotations

import contextlib

import msgspec

from bough.core.finish.cleanup.merged_into import merged_into
from bough.core.finish.folder import find_rows, read_folder
from bough.core.finish.last_merge import Merges
from bough.core.finish.surveys.background import Survey
from bough.errors import BoughError
from bough.model.repo import Worktree


class WorktreeProgress(msgspec.Struct, rename="camel"):
    """Counts the files that a worktree changed since its base, committed or not, and tells whether its commits are
    merged. A worktree without commits of its own is not merged."""

    worktree_id: str
    changed_files: int
    merged: bool


class ProgressList(msgspec.Struct, rename="camel"):
    """The progress of worktrees as of the last survey. `pending` says that another one is under way."""

    worktrees: list[WorktreeProgress]
    pending: bool


class ProgressSurvey(Survey[WorktreeProgress]):
    """The progress of all live worktrees."""

    name = "progress"

    async def read(self, wait: float = 0.0) -> ProgressList:
        """Returns the last survey; `Survey.latest` renews it."""
        return ProgressList(*await self.latest(wait))

    async def survey(self, rows: list[Worktree]) -> list[WorktreeProgress]:
        """Looks at each worktree. One that is gone or broken has no progress."""
        worktrees: list[WorktreeProgress] = []
        for row in rows:
            with contextlib.suppress(BoughError, OSError):
                worktrees.append(await self._look(row))
        return worktrees

    async def _look(self, row: Worktree) -> WorktreeProgress:
        await self._checkpoints.check_folder(row.path)
        changed = await self._overlaps.changed(row)
        _, repo = await self._store.read(lambda tx: find_rows(tx, row.id))
        folder = await read_folder(row, repo, [])
        last = await Merges(self._store).last(folder)
        worked = last is not None or folder.head != row.base_sha
        merged = worked and await merged_into(self._store, folder) is not None
        return WorktreeProgress(row.id, len(changed), merged)
