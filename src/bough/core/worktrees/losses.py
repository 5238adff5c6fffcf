"""What would be lost with a worktree: files that are not committed, and commits that nobody else has (W2). What follows
from it is `worktree_removal`."""

from __future__ import annotations

import msgspec

from bough.errors import Conflict
from bough.git.decode import shown
from bough.git.paths import relative
from bough.git.status import NAMED, files, own_commits, submodules
from bough.git.worktrees import Entry
from bough.model.repo import Worktree


class Lost(msgspec.Struct):
    """What would be lost with a worktree."""

    files: list[dict[str, str]]
    commits: list[dict[str, str]]
    more_commits: int
    submodules: bool

    def refuse(self, row: Worktree) -> None:
        """Names everything, if there is anything."""
        total = len(self.commits) + self.more_commits
        parts: list[str] = []
        if self.files:
            parts.append(f"{len(self.files)} uncommitted or untracked files ({_some(self.files, 'path')})")
        if total:
            parts.append(f"{total} commits that are on no other branch or remote ({_some(self.commits, 'subject')})")
        if not parts:
            return
        raise Conflict(
            "worktree_dirty",
            f"Worktree {row.name} has {' and '.join(parts)}. Commit, push or discard them, or force it: then "
            "everything is kept on a recovery ref.",
            files=self.files[:NAMED],
            filesTotal=len(self.files),
            commits=self.commits,
            commitsTotal=total,
        )


def _some(found: list[dict[str, str]], name: str) -> str:
    named = ", ".join(one[name][:80] for one in found[:3])
    return f"{named}, …" if len(found) > 3 else named


async def lost(row: Worktree, entry: Entry) -> Lost:
    """What only this worktree has."""
    found = await files(row.path)
    own = await own_commits(row.path, entry.branch)
    named: list[dict[str, str]] = [{"path": shown(name), "state": state} for name, state in found.changed]
    named += [{"path": shown(name), "state": "untracked"} for name in found.untracked]
    commits: list[dict[str, str]] = [{"sha": sha, "subject": subject} for sha, subject in own.named]
    more = own.total - len(own.named)
    inner = await submodules(row.path)
    for one in inner:
        # The data of a submodule is the worktree's own, its branches included.
        theirs = await own_commits(one, None, remotes_only=True)
        place = shown(relative(one, row.path))
        commits += [{"sha": sha, "subject": f"{place}: {subject}"} for sha, subject in theirs.named]
        more += theirs.total - len(theirs.named)
    return Lost(named, commits, more, bool(inner))
