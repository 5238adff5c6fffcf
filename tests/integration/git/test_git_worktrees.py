"""W1: the parts of git that worktrees stand on: the lock, hidden folders, what is named in a status. What is made
of them is tested through REST."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from bough.errors import Busy, Conflict, Invalid
from bough.git import locks, recovery, worktrees
from bough.git.locks import alone
from bough.git.run import GitFailed, git, git_head
from bough.git.status import files, own_commits
from bough.testing.repos import git as run
from bough.testing.repos import make_repo

HOLD = """
import fcntl, os, sys
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(handle, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


async def test_one_at_a_time_across_processes(tmp_path: Path) -> None:
    """W1: the lock of a repository holds against other processes, is bounded, and goes with its holder."""
    holder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLD, str(tmp_path / locks.FILE)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert holder.stdout is not None
    try:
        await holder.stdout.readline()
        with pytest.raises(Busy) as caught:
            async with alone(str(tmp_path), 0.05):
                raise AssertionError
        assert caught.value.code == "repo_busy"
    finally:
        holder.kill()
        await holder.wait()
    async with alone(str(tmp_path), 5):
        with pytest.raises(Busy):
            async with alone(str(tmp_path), 0.05):
                raise AssertionError
    order: list[int] = []

    async def one(number: int) -> None:
        async with alone(str(tmp_path)):
            order.append(number)
            await asyncio.sleep(0)
            order.append(number)

    await asyncio.gather(*(one(number) for number in range(20)))
    assert order == [number for number in range(20) for _ in range(2)]


async def test_a_git_that_outlives_us_keeps_the_lock(tmp_path: Path) -> None:
    """Q4: whoever is handed the lock file keeps it; once we let go of it ourselves, nobody does."""
    async with alone(str(tmp_path)) as handle:
        child = await asyncio.create_subprocess_exec("sleep", "1000", pass_fds=(handle,))
    try:
        async with alone(str(tmp_path), 1) as handle:
            assert handle > 0
        # A holder that was killed closes its file without letting go of the lock.
        held = os.open(tmp_path / locks.FILE, os.O_RDWR)
        assert locks.taken(held)
        other = await asyncio.create_subprocess_exec("sleep", "1000", pass_fds=(held,))
        os.close(held)
        try:
            with pytest.raises(Busy):
                async with alone(str(tmp_path), 0.05):
                    raise AssertionError
        finally:
            other.kill()
            await other.wait()
        async with alone(str(tmp_path), 5):
            pass
    finally:
        child.kill()
        await child.wait()


async def test_folders_are_hidden_once(tmp_path: Path) -> None:
    """W1: a folder inside of a working copy is kept out of its status by info/exclude; once, and only if need be."""
    top = make_repo(tmp_path / "repo")
    common = await worktrees.common_folder(str(top))
    exclude = top / ".git" / "info" / "exclude"
    exclude.write_text("# mine, without an end")
    for name in (".worktrees/a/b", ".worktrees/c", "trees [x]/one*", "trees [x]/one*", "../outside"):
        await worktrees.exclude(common, str(top), str(top / name))
    assert exclude.read_text() == "# mine, without an end\n/.worktrees/\n/trees \\[x\\]/one\\*/\n"
    (top / "trees [x]" / "one*").mkdir(parents=True)
    (top / "trees [x]" / "one*" / "file").touch()
    assert run(top, "status", "--porcelain") == ""
    (top / ".gitignore").write_text("/own/\n")
    await worktrees.exclude(common, str(top), str(top / "own" / "x"))
    assert "own" not in exclude.read_text()


async def test_branches_are_found(tmp_path: Path) -> None:
    """W1: local before remote before new; several remotes need one that is preferred."""
    top = make_repo(tmp_path / "repo")
    for name in ("one", "two"):
        other = make_repo(tmp_path / name)
        run(other, "branch", "shared")
        run(top, "remote", "add", name, str(other))
        run(top, "fetch", "--quiet", name)
    with pytest.raises(Conflict) as caught:
        await worktrees.find_branch(str(top), "shared", None, "main")
    assert caught.value.code == "branch_ambiguous"
    run(top, "config", "checkout.defaultRemote", "two")
    found = await worktrees.find_branch(str(top), "shared", None, "main")
    assert (found.kind, found.start, found.base_ref) == ("remote", "two/shared", None)
    assert (await worktrees.find_branch(str(top), "main", None, "gone")).kind == "local"
    new = await worktrees.find_branch(str(top), "fresh", None, "gone")
    assert (new.kind, new.base_ref) == ("new", "HEAD")
    with pytest.raises(Invalid):
        await worktrees.find_branch(str(top), "fresh", "gone", "main")
    assert await worktrees.delete_branch(str(top), "main") is False


async def test_a_status_names_everything(tmp_path: Path) -> None:
    """W2: every kind of change by its path, spaces and line breaks included."""
    top = make_repo(tmp_path / "repo")
    for name in ("deleted", "renamed", "conflict"):
        (top / name).write_text(f"{name}\n" * 10)
    run(top, "add", ".")
    run(top, "commit", "--quiet", "--message", "Some.")
    run(top, "switch", "--quiet", "--create", "other")
    (top / "conflict").write_text("theirs\n")
    run(top, "commit", "--quiet", "--all", "--message", "Theirs.")
    run(top, "switch", "--quiet", "main")
    (top / "conflict").write_text("ours\n")
    run(top, "commit", "--quiet", "--all", "--message", "Ours.")
    with pytest.raises(GitFailed):
        await git(str(top), "-c", "user.name=x", "-c", "user.email=x@x", "merge", "--quiet", "other")
    (top / "deleted").unlink()
    run(top, "mv", "renamed", "new name")
    (top / "a\nb").write_text("x")
    found = await files(str(top))
    assert (found.branch, found.untracked) == ("main", ["a\nb"])
    assert dict(found.changed) == {"conflict": "in conflict", "deleted": "deleted", "new name": "renamed"}
    own = await own_commits(str(top), "main")
    assert ([subject for _, subject in own.named], own.total) == (["Ours."], 1)


async def test_long_output_is_cut(tmp_path: Path) -> None:
    """A2: of an endless output only its beginning is read; a failure is still a failure."""
    top = make_repo(tmp_path / "repo")
    (top / "long").write_text("line\n" * 100_000)
    run(top, "add", ".")
    text, cut = await git_head(str(top), 1000, "diff", "--cached")
    assert (len(text), cut) == (1000, True)
    text, cut = await git_head(str(top), 10_000_000, "diff", "--cached", "--stat")
    assert (b"long" in text, cut) == (True, False)
    with pytest.raises(GitFailed):
        await git_head(str(top), 1000, "diff", "nowhere")


async def test_an_older_recovery_is_not_lost(tmp_path: Path) -> None:
    """W2: a ref that is written again remembers what it held before."""
    top = make_repo(tmp_path / "repo")
    (top / "one").write_text("1")
    ref, inner = await recovery.keep_all(str(top), "x", "First.")
    assert (ref, inner) == ("refs/bough/recovery/x", [])
    (top / "one").write_text("2")
    await recovery.keep_all(str(top), "x", "Second.")
    assert run(top, "show", f"{ref}:one") == "2"
    assert run(top, "show", f"{ref}@{{1}}:one") == "1"
    assert run(top, "status", "--porcelain") == "?? one\n"
