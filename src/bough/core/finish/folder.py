"""Reads what an operation needs to know about a worktree, and refuses one that a turn is working in."""

from __future__ import annotations

import msgspec

from bough.core.finish.requests import FinishBody
from bough.core.policy.protected_paths import is_inside
from bough.core.store.sql import CHECKPOINTS, REPOS
from bough.core.worktrees import records
from bough.errors import Conflict
from bough.git.decode import shown
from bough.git.finish import remotes
from bough.git.finish.move import unfinished
from bough.git.finish.remotes import Remote
from bough.git.paths import real
from bough.git.run import git
from bough.git.working_copy.snapshot import WorkingCopy, working_copy
from bough.git.working_copy.status import files
from bough.git.worktrees import checked_out_at, resolve
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller
from bough.model.task import IN_FLIGHT, Task
from bough.storage.backend import Tx


class WorktreeFolder(msgspec.Struct):
    """A worktree with its repository, its branch and its last commit."""

    row: Worktree
    repo: Repo
    where: WorkingCopy
    branch: str | None
    head: str
    # The folders in which agents work, of all repositories.
    written: list[str] = []

    @property
    def path(self) -> str:
        return self.row.path

    @property
    def own_branch(self) -> str:
        """Returns the branch, or raises `Conflict` for a detached worktree."""
        if self.branch is None:
            raise Conflict(
                "no_branch", f"No branch is checked out in worktree {self.row.name}. Create one there first."
            )
        return self.branch

    def refuse_changed(self, body: FinishBody) -> None:
        """Raises `Conflict` if the worktree's commit or branch is not the expected one."""
        if body.expected_branch not in (None, self.branch or ""):
            raise Conflict(
                "head_changed",
                f"Worktree {self.row.name} was on {_branch_words(body.expected_branch)} when this was asked "
                f"for, and is now on {_branch_words(self.branch)}. Look at it and ask again.",
            )
        if body.expected_head is not None and body.expected_head != self.head:
            raise Conflict(
                "head_changed",
                f"Worktree {self.row.name} was at commit {body.expected_head[:12]} when this was asked for, and is now "
                f"at {self.head[:12]}. Look at the new commits and ask again.",
            )

    def refuse_unfinished(self) -> None:
        """Raises `Conflict` while a merge, rebase or the like is in progress."""
        under_way = unfinished(self.where)
        if under_way is not None:
            raise Conflict(
                "unfinished_operation",
                f"A {under_way} is in progress in worktree {self.row.name}. Finish it (resolve and commit) or abort it "
                f"(`git {under_way} --abort`) first.",
            )


class BaseBranch(msgspec.Struct, frozen=True):
    """The branch that a worktree is measured against. `local` is its name if it is a branch of this repository,
    `branch` its name on a remote too, and `remote` the remote that it was named with."""

    name: str
    sha: str
    branch: str
    local: str | None
    remote: str | None = None


def _branch_words(branch: str | None) -> str:
    return f"branch {branch}" if branch else "no branch"


async def find_rows(tx: Tx, worktree_id: str) -> tuple[Worktree, Repo]:
    row = await records.usable(tx, worktree_id)
    repo = await tx.one(REPOS.get, Repo, id=row.repo_id)
    assert repo is not None
    return row, repo


async def written_folders(tx: Tx) -> list[str]:
    """Returns the folders in which agents work: those of all repositories and worktrees."""
    return [path for (path,) in await tx.all(REPOS.folders, tuple[str])]


async def read_folder(row: Worktree, repo: Repo, written: list[str]) -> WorktreeFolder:
    """Reads the worktree's branch and commit from git."""
    where = await working_copy(row.path)
    status = await git(row.path, "symbolic-ref", "--quiet", "HEAD", fine=(0, 1))
    head = await resolve(row.path, "HEAD")
    if head is None:
        raise Conflict("no_commit", f"Worktree {row.name} has no commit yet.")
    ref = status.rstrip("\n")
    if ref and not ref.startswith("refs/heads/"):
        raise Conflict("no_branch", f"HEAD of worktree {row.name} is {shown(ref)}, which is not a branch.")
    branch = ref.removeprefix("refs/heads/") or None
    return WorktreeFolder(row, repo, where, branch, head, written)


async def find_remote(
    folder: WorktreeFolder, branch: str | None, chosen: str | None = None, *, fetching: bool = False
) -> Remote:
    """Returns the remote to send a branch to, or to fetch it from. Raises `Conflict` for a folder in which agents
    work: git would run there with a configuration that they may have written."""
    remote = await remotes.find_remote(folder.path, branch, chosen, fetching=fetching)
    if remote.protocol == "file":
        inside = next((path for path in folder.written if is_inside(remote.address, real(path))), None)
        if inside is not None:
            raise Conflict(
                "remote_blocked",
                f"The remote {remote.name} is the folder {shown(remote.address)}, and agents work in {inside}. Use a "
                "folder outside, or push and fetch by hand.",
            )
    return remote


async def find_base(folder: WorktreeFolder, chosen: str | None = None) -> BaseBranch:
    """Returns the base branch: the wanted one, the one that the worktree started from or, if it is not known to have
    started from one, the repository's default."""
    name = chosen if chosen is not None else folder.row.base_ref or folder.repo.default_branch
    if name and (base := await _branch(folder, name)) is not None:
        return base
    if chosen is not None:
        raise Conflict("no_base", f"The repository has no other branch {chosen!r}.")
    raise Conflict(
        "no_base", f"Worktree {folder.row.name} did not start from a branch that still exists. Name the base branch."
    )


async def _branch(folder: WorktreeFolder, name: str) -> BaseBranch | None:
    if name == folder.branch:
        return None
    sha = await resolve(folder.path, f"refs/heads/{name}")
    if sha is not None:
        await _refuse_symbolic(folder, name)
        return BaseBranch(name, sha, name, name)
    sha = await resolve(folder.path, f"refs/remotes/{name}")
    if sha is None:
        return None
    remote, _, branch = name.partition("/")
    local = branch if await resolve(folder.path, f"refs/heads/{branch}") is not None else None
    if local is not None:
        await _refuse_symbolic(folder, local)
    return BaseBranch(name, sha, branch, local, remote)


async def _refuse_symbolic(folder: WorktreeFolder, branch: str) -> None:
    """Raises `Conflict` for a branch that only points to another ref, which would be moved in its place."""
    ref = (await git(folder.path, "symbolic-ref", "--quiet", f"refs/heads/{branch}", fine=(0, 1))).rstrip("\n")
    if ref:
        raise Conflict("no_base", f"{branch} is not a branch of its own: it points to {shown(ref)}. Name that one.")


async def busy_below(tx: Tx, path: str) -> list[Task]:
    """Returns the turns that are running in a working copy, at its top or in a folder below."""
    below = f"{path.rstrip('/')}/"
    return await tx.all(CHECKPOINTS.at_work_below, Task, path=path, below=below, statuses=IN_FLIGHT)


async def refuse_turns(tx: Tx, path: str, caller: Caller) -> None:
    """Raises `Conflict` while a turn runs in a folder or below it; the caller's own does not count."""
    running = [task for task in await busy_below(tx, path) if task.session_id != caller.id]
    if running:
        named = ", ".join(f"task {task.id} of session {task.session_id}" for task in running)
        raise Conflict(
            "folder_busy",
            f"A turn runs in {path}: {named}. Wait for it or stop it, or send force: true.",
            tasks=[task.id for task in running],
            sessions=sorted({task.session_id for task in running}),
        )


async def refuse_uncommitted(path: str, what: str, code: str, *, untracked: bool) -> None:
    """Raises `Conflict` if files at a path are not committed. `what` completes the advice."""
    status = await files(path)
    names = [shown(name) for name in [name for name, _ in status.changed] + (status.untracked if untracked else [])]
    if names:
        listed = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        count = "1 file is" if len(names) == 1 else f"{len(names)} files are"
        raise Conflict(code, f"{count} not committed at {path} ({listed}). {what}", files=names[:100])


async def checkout_of(folder: WorktreeFolder, branch: str) -> str | None:
    """Returns the folder that has a branch checked out, if any."""
    return await checked_out_at(folder.repo.path, branch)
