"""Remembers the commits that Bough last pushed to or fetched from remotes. Agents can write git's own record of them,
`refs/remotes`, so it must not decide which commits of other people a push may replace."""

from __future__ import annotations

from bough.core.finish.folder import WorktreeFolder
from bough.core.store.sql import REMOTE_BRANCHES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.errors import Conflict
from bough.git.decode import escaped
from bough.git.finish.remotes import Remote
from bough.git.finish.transfer import remote_tip
from bough.git.run import git
from bough.git.worktrees import resolve


class RemoteBranches:
    """Reads and notes the commits of remotes' branches."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def find(self, folder: WorktreeFolder, remote: Remote, branch: str) -> str | None:
        """Returns the commit that Bough last pushed or fetched, if any."""
        key = _key(folder, remote, branch)
        sha = await self._store.read(lambda tx: tx.value(REMOTE_BRANCHES.find, **key))
        return None if sha is None else str(sha)

    async def note(self, folder: WorktreeFolder, remote: Remote, branch: str, sha: str) -> None:
        """Notes the commit that the remote has now."""
        key = _key(folder, remote, branch)

        async def work(change: Change) -> None:
            await change.tx.run(REMOTE_BRANCHES.note, **key, sha=sha, now=change.now)

        # The remote has it: a repeated request would not find that out.
        await until_available(lambda: self._store.write(work), "a remote branch", worktree=folder.row.id)

    async def holding(self, folder: WorktreeFolder, branch: str) -> str | None:
        """Returns the address of a remote whose branch has the worktree's last commit, as Bough last knew it."""
        fields = {"repo_id": folder.repo.id, "branch": escaped(branch)}
        rows = await self._store.read(lambda tx: tx.all(REMOTE_BRANCHES.of_branch, tuple[str, str], **fields))
        for address, sha in rows:
            if await resolve(folder.path, sha) is None:
                continue
            common = await git(folder.path, "merge-base", folder.head, sha, fine=(0, 1))
            if common.strip() == folder.head:
                return address
        return None

    async def replaceable(self, folder: WorktreeFolder, remote: Remote, branch: str, replaces: str | None) -> str:
        """Returns the commit that a push may replace, empty for a branch that must be new. Raises `Conflict` if the
        remote has commits that are neither here nor known to Bough, unless a person named the last of them."""
        if replaces is not None:
            return replaces
        known = await self.find(folder, remote, branch)
        if known is not None:
            return known
        tip = await remote_tip(folder.path, remote, branch)
        if tip is None:
            return ""
        if await resolve(folder.path, tip) is not None:
            common = await git(folder.path, "merge-base", tip, folder.head, fine=(0, 1))
            if common.strip() == tip:
                return tip
        raise Conflict(
            "push_rejected",
            f"{remote.name} has the commit {tip} on {branch}, which Bough neither pushed nor fetched. Look at it "
            f"there. To replace it, send replaces: {tip} (`bough worktree push --rewrite --replaces {tip}`).",
            sha=tip,
        )


def _key(folder: WorktreeFolder, remote: Remote, branch: str) -> dict[str, str]:
    return {"repo_id": folder.repo.id, "address": escaped(remote.shown), "branch": escaped(branch)}
