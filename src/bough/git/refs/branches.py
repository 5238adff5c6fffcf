"""Tells whether a branch is in use, and sets its upstream without replacing the repository's configuration file.

Git replaces that file whenever it changes it. A sandbox keeps the file read-only by a mount, which the kernel removes
from running boxes as soon as somebody outside replaces the file.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import structlog

from bough.errors import Conflict
from bough.git.paths import quoted, read_start, real
from bough.git.run import git

log = structlog.get_logger("bough.git")

LONGEST_NOTE = 64 * 1024
"""Bytes that are read of a file in which git notes a rebase or bisect."""


async def set_upstream(repo: str, name: str, start: str) -> None:
    """Makes a new branch follow the remote branch `start`, unless it has settings or no remote fetches it. Raises
    `Conflict` (`config_locked`) if the configuration is locked.

    Git itself would write a copy of the file beside it, where an agent in the repository's own folder can change it."""
    settings = ("config", "-z", "--get-regexp")
    fetched = await git(repo, *settings, r"^remote\..*\.fetch$", fine=(0, 1))
    followed = _followed(fetched.split("\0"), f"refs/remotes/{start}")
    known = (await git(repo, *settings, r"^branch\.", fine=(0, 1))).split("\0")
    if followed is None or any(line.startswith(f"branch.{name}.") for line in known):
        return
    remote, merged = followed
    common = (await git(repo, "rev-parse", "--path-format=absolute", "--git-common-dir")).rstrip("\n")
    section = f"[branch {quoted(name)}]\n\tremote = {quoted(remote)}\n\tmerge = {quoted(merged)}\n"
    if any(line in ("branch.autosetuprebase\nalways", "branch.autosetuprebase\nremote") for line in known):
        section += "\trebase = true\n"
    config = os.path.join(real(common), "config")
    try:
        await asyncio.to_thread(_append, config, os.fsencode(section))
    except OSError as error:
        # Such as a file that is a link. The branch works without an upstream.
        log.warning("upstream_not_set", branch=name, config=config, error=str(error))


def _followed(fetched: list[str], ref: str) -> tuple[str, str] | None:
    """Returns the remote that a remote-tracking ref belongs to, and the ref's name there."""
    for line in fetched:
        setting, _, refspec = line.partition("\n")
        source, colon, target = refspec.removeprefix("+").partition(":")
        before, star, after = target.partition("*")
        middle = ref[len(before) : len(ref) - len(after)] if star else ""
        if colon and not source.startswith("^") and ref == f"{before}{middle}{after}" and (star or ref == target):
            return setting.removeprefix("remote.").removesuffix(".fetch"), source.replace("*", middle, 1)
    return None


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


def _append(config: str, section: bytes) -> None:
    """Adds a section to a configuration file while git's own lock on it is held."""
    lock = f"{config}.lock"
    try:
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError as error:
        raise Conflict(
            "config_locked",
            f"Git's configuration is locked: {lock} exists. If no git command runs in the repository, delete that file "
            "and try again.",
            path=lock,
        ) from error
    try:
        file = os.open(config, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            size = os.fstat(file).st_size
            ends = size == 0 or os.pread(file, 1, size - 1) == b"\n"
            os.write(file, (b"" if ends else b"\n") + section)
        finally:
            os.close(file)
    finally:
        os.unlink(lock)
