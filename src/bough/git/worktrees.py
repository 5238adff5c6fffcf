"""Lists, adds and removes git worktrees, and resolves branch names."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import stat
from pathlib import Path
from typing import Literal

import msgspec
import structlog

from bough.errors import Conflict, Invalid
from bough.git.paths import is_there, open_folder, real, relative
from bough.git.refs.branches import is_noted, set_upstream
from bough.git.run import GitFailed, Needs, git
from bough.git.safe import permissions
from bough.git.safe.location import find
from bough.git.working_copy.status import files

log = structlog.get_logger("bough.git")

# For checking out a very large repository, including hooks.
ADD_WITHIN = 600.0
LONGEST_BRANCH = 244
_GLOB = re.compile(r"([\\*?\[\]])")


class ListedWorktree(msgspec.Struct):
    """One entry of `git worktree list`."""

    path: str
    sha: str | None = None
    branch: str | None = None
    bare: bool = False
    locked: str | None = None
    prunable: bool = False


class GitBranch(msgspec.Struct):
    """The kind of branch that a name refers to, and the commit that its worktree starts from."""

    name: str
    kind: Literal["new", "local", "remote"]
    start: str
    sha: str
    base_ref: str | None
    base_sha: str | None


async def common_folder(path: str) -> str:
    """Returns the folder that all worktrees of a repository share, or raises `Conflict` for a plain folder."""
    try:
        folder = (await git(path, "rev-parse", "--path-format=absolute", "--git-common-dir")).rstrip("\n")
    except GitFailed as error:
        if "not a git repository" not in error.message and "cannot use bare repository" not in error.message:
            raise
        raise no_worktrees(path) from None
    return real(folder)


def no_worktrees(path: str) -> Conflict:
    """Returns the error for a plain folder that was to have worktrees."""
    return Conflict(
        "repo_is_plain",
        f"{path} is not a git repository, so it cannot have worktrees. Run `git init` there first; "
        "sessions can work in the folder itself.",
    )


async def list_worktrees(path: str) -> list[ListedWorktree]:
    """Lists all worktrees of the repository that `path` belongs to, the main one first."""
    return parse_worktrees(await git(path, "worktree", "list", "--porcelain", "-z"))


def parse_worktrees(text: str) -> list[ListedWorktree]:
    """Parses `git worktree list --porcelain -z`."""
    worktrees: list[ListedWorktree] = []
    for block in text.split("\0\0"):
        facts = [line.partition(" ") for line in block.split("\0") if line]
        if not facts:
            continue
        values = {name: value for name, _, value in facts}
        branch = values.get("branch")
        worktrees.append(
            ListedWorktree(
                path=values["worktree"],
                sha=values.get("HEAD"),
                branch=branch.removeprefix("refs/heads/") if branch else None,
                bare="bare" in values,
                locked=values.get("locked"),
                prunable="prunable" in values,
            )
        )
    return worktrees


async def find_worktree(repo: str, path: str) -> ListedWorktree | None:
    """Returns the worktree at this path if git lists it. The main one does not count."""
    real_path = real(path)
    return next((listed for listed in (await list_worktrees(repo))[1:] if real(listed.path) == real_path), None)


async def checked_branch(repo: str, name: str) -> str:
    """Validates a branch name, taken literally: no option, no shorthand."""
    if not name or len(name.encode("utf-8", "replace")) > LONGEST_BRANCH:
        raise Invalid("bad_branch", f"A branch name must have between 1 and {LONGEST_BRANCH} bytes.")
    if name.startswith("-") or "\0" in name or name in ("HEAD", "@"):
        raise Invalid("bad_branch", f"{name!r} is not a valid branch name.")
    try:
        normalized = (await git(repo, "check-ref-format", "--branch", name)).rstrip("\n")
    except (GitFailed, UnicodeEncodeError):
        normalized = ""
    if normalized != name:
        raise Invalid("bad_branch", f"{name!r} is not a valid branch name.")
    return name


async def resolve(repo: str, name: str) -> str | None:
    """Returns the commit that a name refers to, if any."""
    if "\0" in name or not name:
        return None
    try:
        return (await git(repo, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")).strip()
    except (GitFailed, UnicodeEncodeError):
        return None


async def find_branch(repo: str, name: str, base: str | None, default: str | None) -> GitBranch:
    """Resolves a name to an existing branch, a remote-only branch, or a new one from `base`."""
    base_ref = base if base is not None else default
    base_sha = await resolve(repo, base_ref) if base_ref is not None else None
    if base is None and base_sha is None:
        base_ref, base_sha = "HEAD", await resolve(repo, "HEAD")
    if base is not None and base_sha is None:
        raise Invalid("bad_base", f"{base!r} is not a commit, branch or tag of this repository.")
    local = await resolve(repo, f"refs/heads/{name}")
    if local is not None:
        fork = await fork_point(repo, base_sha, local)
        return GitBranch(name, "local", name, local, base_ref if fork else None, fork or local)
    remote = await _remote_branch(repo, name)
    if remote is not None:
        sha = await resolve(repo, remote)
        assert sha is not None
        fork = await fork_point(repo, base_sha, sha)
        start = remote.removeprefix("refs/remotes/")
        return GitBranch(name, "remote", start, sha, base_ref if fork else None, fork or sha)
    if base_sha is None:
        raise Conflict(
            "repo_empty", "This repository has no commits yet. Commit first, so that a branch can start from it."
        )
    return GitBranch(name, "new", base_sha, base_sha, base_ref, base_sha)


async def fork_point(repo: str, base: str | None, sha: str) -> str | None:
    """Returns where a branch left its base."""
    if base is None:
        return None
    with contextlib.suppress(GitFailed):
        return (await git(repo, "merge-base", base, sha)).strip()
    return None


async def _remote_branch(repo: str, name: str) -> str | None:
    """Returns the only remote branch of this name; with several, that of `checkout.defaultRemote` or origin."""
    remotes = (await git(repo, "remote")).split("\n")
    known = set((await git(repo, "for-each-ref", "--format=%(refname)", "refs/remotes")).split("\n"))
    holders = [remote for remote in remotes if remote and f"refs/remotes/{remote}/{name}" in known]
    if len(holders) > 1:
        chosen = "origin"
        with contextlib.suppress(GitFailed):
            chosen = (await git(repo, "config", "--get", "checkout.defaultRemote")).strip()
        if chosen not in holders:
            raise Conflict(
                "branch_ambiguous",
                f"Several remotes have a branch {name!r}: {', '.join(holders)}. Create it yourself from one of them "
                "(`git branch --track`), or set checkout.defaultRemote.",
                remotes=holders,
            )
        holders = [chosen]
    return f"refs/remotes/{holders[0]}/{name}" if holders else None


async def checked_out_at(repo: str, branch: str) -> str | None:
    """Returns the worktree, including the main one, that has this branch checked out."""
    return next((listed.path for listed in await list_worktrees(repo) if listed.branch == branch), None)


async def add(repo: str, path: str, branch: GitBranch | None, sha: str | None = None, hold: int | None = None) -> None:
    """Creates a worktree at a free path, for a branch or a detached commit. Its hooks run if a person allowed that."""
    if branch is None:
        assert sha is not None
        how = ["--detach", path, sha]
    elif branch.kind == "local":
        how = [path, branch.name]
    else:
        if branch.kind == "remote":
            await set_upstream(repo, branch.name, branch.start)
        how = ["--no-track", "-b", branch.name, path, branch.start]
    held = () if hold is None else (hold,)
    words = ("worktree", "add", "--quiet")
    if permissions.allowed(await asyncio.to_thread(find, repo)).hooks:
        await git(repo, *words, *how, timeout=ADD_WITHIN, hold=held, needs=Needs(hooks=True))
        return
    # In two steps: git starts itself for the first, which looks into no file; the second writes all files by itself.
    # The folder must exist, because git may write nothing beside it.
    is_new = not is_there(path)
    await asyncio.to_thread(os.makedirs, path, exist_ok=True)
    first = (*words, "--no-checkout", *how)
    try:
        await git(repo, *first, timeout=ADD_WITHIN, hold=held, needs=Needs(children=True), worktree=path)
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):
                os.rmdir(path)
        raise
    try:
        await git(path, "reset", "--hard", "--quiet", timeout=ADD_WITHIN, hold=held)
    except BaseException:
        await asyncio.shield(_remove_unfinished(repo, path))
        raise


async def _remove_unfinished(repo: str, path: str) -> None:
    with contextlib.suppress(GitFailed):
        await git(repo, "worktree", "remove", "--force", "--force", path, timeout=ADD_WITHIN, worktree=path)


async def exclude(common: str, top: str, path: str) -> None:
    """Keeps a worktree inside a working copy out of its `git status` without touching tracked files."""
    inside = relative(path, top)
    if inside.startswith("..") or "\n" in inside:
        return
    with contextlib.suppress(GitFailed):
        await git(top, "check-ignore", "--quiet", "--no-index", "--", f"{inside}/")
        return
    hidden = inside.partition("/")[0] if inside.startswith(".worktrees/") else inside
    _add_line(common, "/" + _GLOB.sub(r"\\\1", hidden) + "/")


def _add_line(common: str, line: str) -> None:
    """Adds a line to `info/exclude` unless it is already there. An agent may have made the file a link to another one,
    or a pipe, which would wait forever: then the folder stays in sight."""
    try:
        info = open_folder(common, "info", create=0o777)
        try:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            file = os.open("exclude", flags, 0o666, dir_fd=info)
        finally:
            os.close(info)
    except OSError as error:
        log.warning("worktree_not_excluded", repository=common, error=str(error))
        return
    with os.fdopen(file, "r+b", buffering=0) as exclude:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return
        known = exclude.read()
        if os.fsencode(line) not in known.split(b"\n"):
            exclude.write((b"" if not known or known.endswith(b"\n") else b"\n") + os.fsencode(line) + b"\n")


async def remove(repo: str, path: str, *, force: bool) -> None:
    """Removes a worktree and its folder, including ignored files. Without force, looks again for changed files,
    because git's own look would run the worktree's filters."""
    if not force:
        status = await files(path)
        if status.changed or status.untracked:
            raise GitFailed("git_failed", f"Files in {path} have changed. Commit them, or remove it with force.")
    words = ("--force", "--force") if force else ("--force",)
    await git(repo, "worktree", "remove", *words, path, timeout=ADD_WITHIN, worktree=path)


async def reconnect(repo: str, path: str) -> None:
    """Writes the file `.git` of a worktree that has lost it. Raises `GitFailed` if git cannot."""
    await git(repo, "worktree", "repair", path, worktree=path, fine=(0, 1))
    if not is_there(path, ".git"):
        raise GitFailed("git_failed", f"{path} has no .git, and git worktree repair does not create it.")


async def delete_branch(repo: str, branch: str, *others: str, expected: str | None = None) -> bool:
    """Deletes a branch that is not in use and whose commits are also on other branches, remotes or `others`; if its
    last commit is not the `expected` one, it stays. Its section in the configuration stays."""
    ref = f"refs/heads/{branch}"
    tip = await resolve(repo, ref)
    if tip is None or expected not in (None, tip) or await checked_out_at(repo, branch) is not None:
        return False
    if await asyncio.to_thread(is_noted, await common_folder(repo), branch):
        return False
    holders = (f"--exclude={branch}", "--branches", "--remotes", *others)
    if int(await git(repo, "rev-list", "--count", tip, "--not", *holders)):
        return False
    # If the branch is a link to another one, only the link is deleted.
    await git(repo, "update-ref", "--no-deref", "-d", ref, tip)
    return True


async def clear(repo: str, path: str) -> bool:
    """Removes whatever git started to create at this path. Anything that git does not list stays."""
    listed = await find_worktree(repo, path)
    if listed is None:
        with contextlib.suppress(OSError):
            os.rmdir(path)
        return not is_there(path)
    if is_there(path):
        await asyncio.to_thread(shutil.rmtree, path, True)
    await remove(repo, path, force=True)
    return True


def tidy(path: str, top: str) -> None:
    """Removes the empty folders that a worktree leaves above itself, up to `top`."""
    folder = Path(path).parent
    while folder != Path(top) and Path(top) in folder.parents:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
