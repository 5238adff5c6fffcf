"""Reads how far the work in a worktree is from being finished: uncommitted files, commits ahead and behind, what was
pushed and merged."""

from __future__ import annotations

import msgspec

from bough.core.finish.cleanup.merged_into import merged_into
from bough.core.finish.commit import ProposedMessage
from bough.core.finish.folder import WorktreeFolder, checkout_of, find_base, find_remote
from bough.core.finish.last_merge import LastMerge, Merges
from bough.core.finish.overlap import Overlap
from bough.core.finish.requests import MOST_NAMED
from bough.core.store.transactions import Store
from bough.errors import Conflict
from bough.git.decode import shown
from bough.git.finish.commit import uncommitted
from bough.git.finish.move import unfinished
from bough.git.finish.transfer import tracking_ref
from bough.git.run import GitFailed
from bough.git.working_copy.diff import FileStatus
from bough.git.working_copy.status import distance
from bough.git.worktrees import resolve


class ChangedFile(msgspec.Struct):
    """A file that is not committed."""

    path: str
    status: FileStatus


class RemoteState(msgspec.Struct, rename="camel"):
    """The remote that the branch goes to. Ahead and behind count what was known when it was last asked; null if it has
    no such branch. `blocked` says why Bough does not use it."""

    name: str | None = None
    address: str | None = None
    ahead: int | None = None
    behind: int | None = None
    blocked: str | None = None


class FinishState(msgspec.Struct, rename="camel"):
    """How far the work in a worktree is from being finished.

    - `base`: the branch that it is merged into and updated from; `checkout` is the folder that has it checked out.
    - `ahead`, `behind`: commits of the branch that the base lacks, and the other way around.
    - `files`: the first uncommitted files; `filesTotal` counts all, `conflicts` lists those in conflict.
    - `unfinished`: the merge, rebase or the like in progress.
    - `merged`: whether the last commit has been merged into the base, also by a squash.
    - `lastMerge`: the merge that can be undone.
    - `overlaps`: other worktrees of the repository that changed the same files.
    - `running`: the sessions whose turns run there.
    - `proposed`: a commit message from the last turn.
    - `cleanupError`: why a cleanup that the last server began could not be completed.
    - `mergedInto`: the branch that contains the last commit, null if there is none."""

    worktree_id: str
    branch: str | None
    sha: str
    base: str | None
    checkout: str | None
    ahead: int | None
    behind: int | None
    files: list[ChangedFile]
    files_total: int
    conflicts: list[str]
    unfinished: str | None
    remote: RemoteState
    merged: bool
    last_merge: LastMerge | None
    overlaps: list[Overlap]
    running: list[str]
    proposed: ProposedMessage
    cleanup_error: str | None
    merged_into: str | None


async def read_finish_state(
    folder: WorktreeFolder,
    overlaps: list[Overlap],
    running: list[str],
    proposed: ProposedMessage,
    failure: str | None,
    store: Store,
) -> FinishState:
    """Reads the state from git and the database."""
    changes = await uncommitted(folder.where.top)
    base, checkout, counted = None, None, None
    try:
        branch = await find_base(folder)
        base = branch.name
        counted = await distance(folder.path, branch.sha)
        checkout = await checkout_of(folder, branch.local) if branch.local else None
    except Conflict:
        pass
    ahead, behind = counted or (None, None)
    merge = await Merges(store).last(folder)
    return FinishState(
        worktree_id=folder.row.id,
        branch=folder.branch,
        sha=folder.head,
        base=base,
        checkout=checkout,
        ahead=ahead,
        behind=behind,
        files=[ChangedFile(shown(file.path), file.status) for file in changes[:MOST_NAMED]],
        files_total=len(changes),
        conflicts=[shown(file.path) for file in changes if file.status == "unmerged"][:MOST_NAMED],
        unfinished=unfinished(folder.where),
        remote=await _remote(folder),
        merged=merge is not None and merge.tip == folder.head,
        last_merge=merge,
        overlaps=overlaps,
        running=running,
        proposed=proposed,
        cleanup_error=failure,
        merged_into=await merged_into(store, folder),
    )


async def _remote(folder: WorktreeFolder) -> RemoteState:
    try:
        remote = await find_remote(folder, folder.branch)
    except Conflict as error:
        # A repository without a remote is usual and needs no words.
        return RemoteState(blocked=None if error.code == "no_remote" else error.message)
    state = RemoteState(remote.name, remote.shown)
    known = await resolve(folder.path, tracking_ref(remote, folder.branch)) if folder.branch else None
    if known is not None:
        try:
            state.ahead, state.behind = await distance(folder.path, known) or (None, None)
        except GitFailed:
            return state
    return state
