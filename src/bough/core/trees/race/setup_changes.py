"""Tells the work of a racer from what the setup of its worktree made, which is neither shown nor kept (B6)."""

from __future__ import annotations

import msgspec

from bough.git.finish.own_changes import Preparation
from bough.git.refs import checkpoint_refs as refs
from bough.model.checkpoint import Checkpoint
from bough.model.repo import Repo
from bough.model.trees.race import RaceRow

WITH_SETUP = "Includes what the worktree's setup made, because there is no checkpoint from before the first turn."


def has_setup(repo: Repo) -> bool:
    """Tells whether a repository's new worktrees are set up by a command."""
    return bool(msgspec.json.decode(bytes(repo.setup), type=list[str]))


async def preparation(folder: str, race: RaceRow, begun: Checkpoint | None) -> Preparation | None:
    """Returns the files that a racer's worktree was created with and those of its first turn; None if the repository
    does not have the latter."""
    if begun is None or begun.sha is None:
        return None
    if begun.sha != race.start_sha and not await refs.held(folder, begun.sha):
        return None
    return Preparation(race.start_sha, begun.sha)
