"""Finds where the lines of a comment are in a file's current version, and tells whether they have changed."""

from __future__ import annotations

from typing import NamedTuple

from bough.git.file_contents import Edit, edits, file_lines, file_object
from bough.git.run import GitFailed
from bough.model.review import CommentRow


class Place(NamedTuple):
    """The first and last line of what a comment is about."""

    line: int
    last_line: int


class Places:
    """Finds the places of many comments in one commit; reads each file and each difference once."""

    def __init__(self, cwd: str, commit: str) -> None:
        self._cwd = cwd
        self._commit = commit
        self._objects: dict[str, str | None] = {}
        self._edits: dict[tuple[str, str], list[Edit] | None] = {}

    async def find(self, comment: CommentRow) -> Place | None:
        """Returns where the commented lines are; None if they have changed. Removed lines count as changed when they
        are back."""
        assert comment.path is not None and comment.start_line is not None and comment.end_line is not None
        place = Place(comment.start_line, comment.end_line)
        if comment.path not in self._objects:
            self._objects[comment.path] = await file_object(self._cwd, self._commit, comment.path)
        current = self._objects[comment.path]
        if current == comment.object:
            return place
        if comment.side == "old":
            return None if current is not None and await self._is_back(comment, current) else place
        if current is None or comment.object is None:
            return None
        changes = await self._changes(comment.object, current)
        if changes is not None:
            return moved(place, changes)
        return _nearest(place, comment.quote.split("\n"), await file_lines(self._cwd, current) or [])

    async def _changes(self, old: str, new: str) -> list[Edit] | None:
        """Returns how a version became another; None if git has deleted the old one by now."""
        if (old, new) not in self._edits:
            try:
                self._edits[old, new] = await edits(self._cwd, old, new)
            except GitFailed:
                self._edits[old, new] = None
        return self._edits[old, new]

    async def _is_back(self, comment: CommentRow, current: str) -> bool:
        quoted = {line for line in comment.quote.split("\n") if line.strip()}
        changes = await self._changes(comment.object, current) if comment.object is not None else None
        if changes is None:
            added = await file_lines(self._cwd, current) or []
        else:
            added = [line for edit in changes for line in edit.added]
        return bool(quoted) and quoted <= set(added)


def moved(place: Place, changes: list[Edit]) -> Place | None:
    """Returns where lines are after edits elsewhere in the file; None if an edit touches them."""
    shift = 0
    for edit in changes:
        first, last = (edit.start, edit.start + edit.count - 1) if edit.count else (edit.start + 1, edit.start)
        if last < place.line and first <= place.line:
            shift += edit.new_count - edit.count
        elif first <= place.last_line:
            return None
    return Place(place.line + shift, place.last_line + shift)


def _nearest(place: Place, quoted: list[str], lines: list[str]) -> Place | None:
    """Returns where the quoted lines occur nearest to their old place."""
    starts = [start for start in range(len(lines) - len(quoted) + 1) if lines[start : start + len(quoted)] == quoted]
    if not starts:
        return None
    start = min(starts, key=lambda candidate: abs(candidate + 1 - place.line))
    return Place(start + 1, start + len(quoted))
