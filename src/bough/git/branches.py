"""Tells whether a branch is in use, and sets its upstream without replacing the repository's configuration file.

Git replaces that file whenever it changes it. A sandbox keeps the file read-only by a mount, which the kernel removes
from running boxes as soon as somebody outside replaces the file.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

from bough.git.paths import quoted, read_start, real
from bough.git.run import git

LONGEST_NOTE = 64 * 1024
"""Bytes that are read of a file in which git notes a rebase or bisect."""


async def set_upstream(repo: str, name: str, start: str) -> bool:
    """Makes a new branch follow the remote branch `start`. Returns False if only git can write that."""
    remote = start.removesuffix(f"/{name}")
    settings = ("config", "-z", "--get-regexp")
    fetched = await git(repo, *settings, r"^remote\..*\.fetch$", fine=(0, 1))
    if f"remote.{remote}.fetch\n+refs/heads/*:refs/remotes/{remote}/*" not in fetched.split("\0"):
        return False
    known = (await git(repo, *settings, r"^branch\.", fine=(0, 1))).split("\0")
    prefix = f"branch.{name}."
    ours = [line for line in known if line.startswith(prefix)]
    if any(line.startswith("branch.autosetuprebase\n") for line in known):
        return False
    upstream_lines = [f"{prefix}remote\n{remote}", f"{prefix}merge\nrefs/heads/{name}"]
    if ours:
        return sorted(ours) == sorted(upstream_lines)
    common = (await git(repo, "rev-parse", "--path-format=absolute", "--git-common-dir")).rstrip("\n")
    section = f"[branch {quoted(name)}]\n\tremote = {quoted(remote)}\n"
    section += f"\tmerge = {quoted(f'refs/heads/{name}')}\n"
    return await asyncio.to_thread(_append, os.path.join(real(common), "config"), os.fsencode(section))


def is_noted(common: str, branch: str) -> bool:
    """Returns whether a rebase or bisect in any worktree will come back to a branch, which is not checked out then."""
    names = {branch, f"refs/heads/{branch}"}
    return any(not names.isdisjoint(lines) for lines in _notes(common))


def _notes(common: str) -> Iterator[list[str]]:
    worktrees = os.path.join(common, "worktrees")
    folders = [common]
    if os.path.isdir(worktrees):
        folders += [os.path.join(worktrees, name) for name in os.listdir(worktrees)]
    # The last one lists further branches that the rebase moves, each with two commits.
    for name in ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START", "rebase-merge/update-refs"):
        for folder in folders:
            note = read_start(os.path.join(folder, name), LONGEST_NOTE)
            if note is not None:
                yield os.fsdecode(note).split("\n")


def _append(config: str, section: bytes) -> bool:
    """Adds a section to a configuration file while git's own lock on it is held."""
    try:
        os.close(os.open(f"{config}.lock", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError:
        return False
    try:
        file = os.open(config, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            size = os.fstat(file).st_size
            ends = size == 0 or os.pread(file, 1, size - 1) == b"\n"
            return os.write(file, (b"" if ends else b"\n") + section) > 0
        finally:
            os.close(file)
    except OSError:
        return False
    finally:
        os.unlink(f"{config}.lock")
