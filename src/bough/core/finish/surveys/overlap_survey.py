"""Finds the files that several live worktrees of a repository changed, one repository after the other."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable

import msgspec

from bough.core.finish.overlap import MOST_COMPARED, Overlap
from bough.core.finish.surveys.background import Survey
from bough.errors import BoughError
from bough.git.decode import shown
from bough.model.repo import Worktree

# A card names few files; the state of a worktree names more.
MOST_NAMED = 5


class WorktreeOverlaps(msgspec.Struct, rename="camel"):
    """A worktree and the others that changed the same files, those with most of them first."""

    worktree_id: str
    overlaps: list[Overlap]


class OverlapList(msgspec.Struct, rename="camel"):
    """The worktrees with overlaps, as of the last survey. `pending` says that another one is under way."""

    worktrees: list[WorktreeOverlaps]
    pending: bool


class OverlapSurvey(Survey[WorktreeOverlaps]):
    """The overlaps of all live worktrees."""

    name = "overlaps"

    async def survey(self, rows: list[Worktree]) -> list[WorktreeOverlaps]:
        """Compares the newest worktrees of each repository."""
        rows = sorted(rows, key=lambda row: (row.repo_id, row.created_at, row.id))
        worktrees: list[WorktreeOverlaps] = []
        for _, group in itertools.groupby(rows, key=lambda row: row.repo_id):
            worktrees += await self._survey_repo(list(group)[-MOST_COMPARED:])
        return worktrees

    async def _survey_repo(self, rows: list[Worktree]) -> list[WorktreeOverlaps]:
        if len(rows) < 2:
            return []
        changed: dict[str, frozenset[str]] = {}
        for row in rows:
            with contextlib.suppress(BoughError):
                await self._checkpoints.check_folder(row.path)
                changed[row.id] = await self._overlaps.changed(row)
        return list(_compare([row for row in rows if changed.get(row.id)], changed))


def _compare(rows: list[Worktree], changed: dict[str, frozenset[str]]) -> Iterable[WorktreeOverlaps]:
    for row in rows:
        overlaps: list[Overlap] = []
        for other in rows:
            both = changed[row.id] & changed[other.id] if other is not row else frozenset[str]()
            if both:
                names = [shown(name) for name in sorted(both)[:MOST_NAMED]]
                overlaps.append(Overlap(other.id, other.name, names, len(both)))
        if overlaps:
            overlaps.sort(key=lambda overlap: -overlap.files_total)
            yield WorktreeOverlaps(row.id, overlaps)
