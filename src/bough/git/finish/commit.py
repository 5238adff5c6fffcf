"""Commits chosen files of a working copy as they are on disk. Hooks run only where a person allowed them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from bough.errors import Conflict, Invalid
from bough.git.decode import shown
from bough.git.finish.merge import identity
from bough.git.finish.merge_trees import tree_of
from bough.git.finish.move import head_ref, unfinished
from bough.git.paths import read_start
from bough.git.run import GitFailed, Needs, filters_off, git
from bough.git.safe import permissions
from bough.git.safe.location import find
from bough.git.working_copy.diff import FileStatus
from bough.git.working_copy.snapshot import QUIET, WorkingCopy, listed, scratch_index, split_missing, working_copy
from bough.git.worktrees import resolve

# For hooks, and for reading every file of a large working copy.
WITHIN = 600.0
LONGEST_MESSAGE = 50_000
MOST_NAMED = 100
# A commit with more parents is not a merge that anybody made by hand.
LONGEST_PARENTS = 4096
_STATES: dict[str, FileStatus] = {"A": "added", "D": "deleted", "T": "typeChanged"}
_MERGE_FILES = ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE")


class UncommittedFile(msgspec.Struct, frozen=True):
    """A file that differs from the last commit. A renamed file is one that was deleted and one that was added."""

    path: str
    status: FileStatus


class CommitPlan(msgspec.Struct, frozen=True):
    """A commit that can be made: its files as git spells them, the last commit, and the other parents if it concludes a
    merge."""

    where: WorkingCopy
    files: list[str]
    head: str
    others: tuple[str, ...]
    hooks: bool


def checked_message(message: str) -> str:
    """Returns a commit message without blanks around it, or raises `Invalid`."""
    text = message.strip()
    if not text or "\0" in text:
        raise Invalid("bad_message", "Give a commit message: text without NUL characters.")
    if len(text) > LONGEST_MESSAGE:
        raise Invalid("bad_message", f"A commit message may have at most {LONGEST_MESSAGE} characters.")
    return text


async def uncommitted(path: str) -> list[UncommittedFile]:
    """Lists the files that differ from the last commit, untracked ones included, nested repositories not."""
    words = ("status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
    return [file for line in (await git(path, *words)).split("\0") if (file := _parsed(line)) is not None]


def _parsed(line: str) -> UncommittedFile | None:
    kind, _, rest = line.partition(" ")
    if kind == "?" and not rest.endswith("/"):
        return UncommittedFile(rest, "added")
    if kind == "u":
        return UncommittedFile(rest.split(" ", 9)[9], "unmerged")
    if kind != "1":
        return None
    index, disk = rest[0], rest[1]
    # The file on disk decides: one that is gone there is deleted, whatever the index says.
    status = _STATES.get(disk) or _STATES.get(index) or "modified"
    return UncommittedFile(rest.split(" ", 7)[7], status)


async def plan_commit(path: str, chosen: Sequence[str] | None) -> CommitPlan:
    """Checks a commit of chosen files, or of all; `chosen` names files as they are shown. Changes nothing."""
    where = await working_copy(path)
    head = await resolve(path, "HEAD")
    if head is None:
        raise Conflict("no_commit", f"{path} has no commit yet.")
    changes = await uncommitted(where.top)
    torn = [shown(file.path) for file in changes if file.status == "unmerged"]
    if torn:
        named = ", ".join(torn[:MOST_NAMED])
        raise Conflict(
            "files_in_conflict",
            f"{len(torn)} files are in conflict: {named}. Resolve them and mark them with `git add`, or let the agent "
            "do it.",
            files=torn[:MOST_NAMED],
        )
    under_way = unfinished(where)
    if under_way not in (None, "merge"):
        raise Conflict("unfinished_operation", f"A {under_way} is in progress at {path}. Finish or abort it first.")
    others = await _merged_commits(where) if under_way == "merge" else ()
    if others and chosen is not None and len({*chosen}) < len(changes):
        raise Conflict("unfinished_operation", f"A merge is in progress at {path}. Commit all files to conclude it.")
    files = _chosen(changes, chosen)
    if not files and not others:
        words = "Choose at least one file to commit." if changes else "No file differs from the last commit."
        raise Conflict("nothing_to_commit", words)
    await _refuse_unfiltered(where, files)
    hooks = permissions.allowed(await asyncio.to_thread(find, path)).hooks
    return CommitPlan(where, files, head, others, hooks)


def _chosen(changes: list[UncommittedFile], chosen: Sequence[str] | None) -> list[str]:
    if chosen is None:
        return [file.path for file in changes]
    known: dict[str, list[str]] = {}
    for file in changes:
        known.setdefault(shown(file.path), []).append(file.path)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        named = ", ".join(unknown[:MOST_NAMED])
        raise Conflict("file_not_changed", f"Not changed since the last commit: {named}.", files=unknown[:MOST_NAMED])
    return list(dict.fromkeys(path for name in chosen for path in known[name]))


async def _merged_commits(where: WorkingCopy) -> tuple[str, ...]:
    """Returns the commits that a merge in progress brings in. An agent may have written that file."""
    text = await asyncio.to_thread(read_start, os.path.join(where.git_dir, "MERGE_HEAD"), LONGEST_PARENTS)
    commits = [await resolve(where.top, line.strip()) for line in os.fsdecode(text or b"").split("\n") if line.strip()]
    known = tuple(commit for commit in commits if commit is not None)
    if not known or len(known) < len(commits):
        raise Conflict("unfinished_operation", f"MERGE_HEAD of {where.top} names no commit. Abort that merge first.")
    return known


async def _refuse_unfiltered(where: WorkingCopy, files: list[str]) -> None:
    """Raises `Conflict` for files whose filter nobody allowed: their raw content would be committed."""
    off = set(await filters_off(where.top))
    if not off or not files:
        return
    words = (await git(where.top, "check-attr", "-z", "--stdin", "filter", stdin=listed(files))).split("\0")[:-1]
    filters = zip(words[::3], words[2::3], strict=True)
    raw = [shown(name) for name, driver in filters if driver in off]
    if raw:
        raise Conflict(
            "filter_not_allowed",
            f"{', '.join(raw[:MOST_NAMED])} would be committed without their filter, because nobody allowed git to run "
            "it. Allow it (`bough repo git REPO --allow filters`), or leave these files out.",
            files=raw[:MOST_NAMED],
        )


async def commit(plan: CommitPlan, message: str, made: Callable[[str], Awaitable[None]] | None = None) -> str:
    """Makes a planned commit and returns its sha. The files stay the same; other staged files stay staged. Calls `made`
    with the new commit before the branch moves there; not where hooks run, because git then does both at once."""
    author = await identity(plan.where.top)
    if plan.hooks:
        await _commit_with_hooks(plan, message, author)
        sha = await resolve(plan.where.top, "HEAD")
        assert sha is not None
        return sha
    ref = await head_ref(plan.where)
    tree = await _tree(plan)
    if tree == await tree_of(plan.where.top, plan.head) and not plan.others:
        raise Conflict("nothing_to_commit", "No file differs from the last commit.")
    parents = [word for parent in (plan.head, *plan.others) for word in ("-p", parent)]
    stdin = f"{message}\n".encode("utf-8", "replace")
    where, env = plan.where, plan.where.env
    words = ("-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree, *parents)
    sha = (await git(where.top, *QUIET, *words, env=author, stdin=stdin)).strip()
    if made is not None:
        await made(sha)
    # The index first: if we are killed in between, files are staged, and nothing is lost.
    await _stage(where, plan.files, env)
    note = f"commit: {message.partition(chr(10))[0][:200]}"
    words = ("update-ref", "--no-deref", "-m", note, ref, sha, plan.head)
    await git(where.top, *QUIET, *words, env=env | author)
    if plan.others:
        await asyncio.to_thread(_conclude_merge, where)
    return sha


async def _tree(plan: CommitPlan) -> str:
    """Writes the tree of the last commit with the chosen files as they are on disk."""
    async with scratch_index(plan.where, seeded=bool(plan.others)) as env:
        if not plan.others:
            await git(plan.where.top, *QUIET, "read-tree", plan.head, env=env, timeout=WITHIN)
        await _stage(plan.where, plan.files, env)
        return (await git(plan.where.top, *QUIET, "write-tree", "--missing-ok", env=env, timeout=WITHIN)).strip()


async def _stage(where: WorkingCopy, files: list[str], env: dict[str, str]) -> None:
    changed, gone = await asyncio.to_thread(split_missing, where.top, files)
    for paths, how in ((gone, ("--force-remove",)), (changed, ("--add", "--remove", "--replace"))):
        if paths:
            words = (*QUIET, "update-index", *how, "-z", "--stdin")
            await git(where.top, *words, env=env, stdin=listed(paths), timeout=WITHIN)


async def _commit_with_hooks(plan: CommitPlan, message: str, author: dict[str, str]) -> None:
    """Commits with git's own command, which runs the repository's hooks. They may change or refuse the commit."""
    where, literal = plan.where, ("--literal-pathspecs", *QUIET)
    from_stdin = ("--pathspec-from-file=-", "--pathspec-file-nul")
    stdin = listed(plan.files)
    if plan.files:
        await git(where.top, *literal, "add", "--all", "--force", *from_stdin, stdin=stdin, timeout=WITHIN)
    only = ("--only", *from_stdin) if plan.files and not plan.others else ()
    words = (*literal, "commit", "--quiet", "--no-gpg-sign", "--cleanup=whitespace", "-m", message, *only)
    try:
        await git(
            where.top,
            *words,
            env=author,
            stdin=stdin if only else None,
            timeout=WITHIN,
            needs=Needs(hooks=True),
        )
    except GitFailed as error:
        raise Conflict("hook_failed", f"Nothing was committed. {error.message}") from error


def _conclude_merge(where: WorkingCopy) -> None:
    for name in _MERGE_FILES:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(where.git_dir, name))
