"""W1: Tests the git operations behind worktrees: the lock, hidden folders, and the paths in a status."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bough.errors import Busy, Conflict, Invalid
from bough.git import repo_lock, worktree_recovery, worktrees
from bough.git.repo_lock import alone
from bough.git.run import GRACE, GitFailed, Needs, git, git_head
from bough.git.safe.configured_programs import ConfiguredRepository, find_repository
from bough.git.working_copy.status import files, own_commits
from tests.support.eventually import eventually
from tests.support.repos import allow_programs, make_repo
from tests.support.repos import git as run

# Long enough for git to start its filter, even on a busy machine.
SOON = 1.5
HOLD = """
import fcntl, os, sys
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(handle, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


async def test_one_at_a_time_across_processes(tmp_path: Path) -> None:
    """W1: A repository's lock excludes other processes, has a time limit, and ends with its holder."""
    holder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLD, str(tmp_path / repo_lock.FILE)),
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

    async def hold(number: int) -> None:
        async with alone(str(tmp_path)):
            order.append(number)
            await asyncio.sleep(0)
            order.append(number)

    await asyncio.gather(*(hold(number) for number in range(20)))
    assert order == [number for number in range(20) for _ in range(2)]


async def test_a_git_process_that_outlives_us_keeps_the_lock(tmp_path: Path) -> None:
    """Q4: A child that inherits the lock file keeps the lock; releasing it ourselves frees it for everyone."""
    async with alone(str(tmp_path)) as handle:
        child = await asyncio.create_subprocess_exec("sleep", "1000", pass_fds=(handle,))
    try:
        async with alone(str(tmp_path), 1) as handle:
            assert handle > 0
        # A killed holder closes its file without releasing the lock.
        held = os.open(tmp_path / repo_lock.FILE, os.O_RDWR)
        assert repo_lock.taken(held)
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


async def test_a_lock_that_cannot_be_opened_is_released(tmp_path: Path) -> None:
    """W1: Without its folder the lock cannot be opened; callers get the same error, and the lock once the folder
    exists."""
    folder = tmp_path / "gone"

    async def hold() -> str:
        async with alone(str(folder), 2):
            return "held"

    for error in await asyncio.gather(hold(), hold(), return_exceptions=True):
        assert isinstance(error, Conflict) and error.code == "git_failed"
    folder.mkdir()
    assert await hold() == "held"


def slow_filter(folder: Path, text: str) -> Path:
    """Creates a repository with a file that `git add` and `git diff` pass to a filter; returns the file with the
    filter's pid."""
    top = make_repo(folder / "repo")
    script, pid = folder / "filter", folder / "pid"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    run(top, "config", "filter.slow.clean", f"{script} {pid}")
    allow_programs(top)
    (top / ".gitattributes").write_text("*.x filter=slow\n")
    (top / "f.x").write_text("x")
    return pid


def gone(pid: int) -> bool:
    """Tells whether a process has ended."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


async def written(file: Path) -> int:
    """Waits for the number that another process writes."""
    await eventually(lambda: file.exists() and file.read_text().endswith("\n"), f"{file.name} is written")
    return int(file.read_text())  # noqa: ASYNC240


@pytest.mark.parametrize("cancelled", [False, True])
async def test_programs_that_git_starts_end_with_it(tmp_path: Path, cancelled: bool) -> None:
    """W1: A time-out or a cancellation ends git and the filter that it waits for."""
    file = slow_filter(tmp_path, "echo $$ > $1.new && mv $1.new $1 && exec sleep 1000")
    adding = asyncio.create_task(git(str(tmp_path / "repo"), "add", "f.x", timeout=1000 if cancelled else SOON))
    pid = await written(file)
    if cancelled:
        adding.cancel()
    with pytest.raises(asyncio.CancelledError if cancelled else GitFailed):
        async with asyncio.timeout(30):
            await adding
    await eventually(lambda: gone(pid), f"process {pid} has ended")


async def test_a_child_that_escapes_delays_no_one(tmp_path: Path) -> None:
    """W1: A child that left git's process group keeps its pipes open, but the caller and its thread continue."""
    file = slow_filter(tmp_path, "setsid sh -c 'echo $$ > $1.new && mv $1.new $1 && exec sleep 1000' sh $1")
    top = str(tmp_path / "repo")
    pids: list[int] = []
    try:
        for ask in (lambda: git(top, "add", "f.x", timeout=SOON), lambda: git_head(top, 9, "add", "f.x", timeout=SOON)):
            # A killed git process leaves its lock file behind.
            for leftover in (file, tmp_path / "repo" / ".git" / "index.lock"):
                leftover.unlink(missing_ok=True)
            began = asyncio.get_running_loop().time()
            with pytest.raises(GitFailed) as caught:
                await ask()
            assert caught.value.code == "git_timeout"
            assert asyncio.get_running_loop().time() - began < SOON + GRACE + 5
            pids.append(await written(file))
        # Many more than there are threads.
        assert len(await asyncio.gather(*(git(top, "rev-parse", "HEAD") for _ in range(20)))) == 20
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


async def test_input_and_output_larger_than_a_pipe(tmp_path: Path) -> None:
    """W1: git reads and writes more than a pipe holds; input that it does not read does no harm."""
    top = str(make_repo(tmp_path / "repo"))
    sha = (await git(top, "hash-object", "-w", "--stdin", stdin=b"line\n" * 100_000)).strip()
    assert await git(top, "cat-file", "blob", sha) == "line\n" * 100_000
    output = await git(top, "cat-file", "--batch-check", stdin=f"{sha}\n".encode() * 20_000)
    assert output.count("blob 500000\n") == 20_000
    assert (await git(top, "rev-parse", "--is-bare-repository", stdin=b"x" * 1_000_000)).strip() == "false"


async def test_folders_are_hidden_once(tmp_path: Path) -> None:
    """W1: Hides a folder inside a working copy from its status by info/exclude, once, and only if necessary."""
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
    """W1: Prefers a local branch, then a remote one, then a new one; with several remotes, one must be preferred."""
    top = make_repo(tmp_path / "repo")
    for name in ("one", "two"):
        other = make_repo(tmp_path / name)
        # Another root commit, whatever the clock says.
        run(other, "commit", "--quiet", "--amend", "--message", name)
        run(other, "branch", "shared")
        run(top, "remote", "add", name, str(other))
        run(top, "fetch", "--quiet", name)
    with pytest.raises(Conflict) as caught:
        await worktrees.find_branch(str(top), "shared", None, "main")
    assert caught.value.code == "branch_ambiguous"
    run(top, "config", "checkout.defaultRemote", "two")
    branch = await worktrees.find_branch(str(top), "shared", None, "main")
    assert (branch.kind, branch.start, branch.base_ref) == ("remote", "two/shared", None)
    assert (await worktrees.find_branch(str(top), "main", None, "gone")).kind == "local"
    new = await worktrees.find_branch(str(top), "fresh", None, "gone")
    assert (new.kind, new.base_ref) == ("new", "HEAD")
    with pytest.raises(Invalid):
        await worktrees.find_branch(str(top), "fresh", "gone", "main")
    assert await worktrees.delete_branch(str(top), "main") is False


async def test_a_slow_disk_stops_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W1: Looking for the repository of a folder happens beside the event loop."""
    looked: list[bool] = []

    def slow(cwd: str) -> ConfiguredRepository | None:
        looked.append(threading.current_thread() is threading.main_thread())
        return find_repository(cwd)

    monkeypatch.setattr("bough.git.run.find_repository", slow)
    top = make_repo(tmp_path / "repo")
    await files(str(top))
    assert looked and not any(looked)


async def test_a_branch_in_use_is_not_deleted(tmp_path: Path) -> None:
    """W2: A rebase or bisect in a worktree comes back to its branch, which therefore stays; a link to a branch does not
    take that branch with it."""
    top = make_repo(tmp_path / "repo")
    run(top, "commit", "--quiet", "--allow-empty", "--message", "More")
    inner = tmp_path / "inner"
    run(top, "worktree", "add", "--quiet", "-b", "later", str(inner))
    with pytest.raises(subprocess.CalledProcessError):
        run(inner, "rebase", "--exec", "false", "--root")
    assert await worktrees.delete_branch(str(top), "later") is False
    run(inner, "rebase", "--abort")
    run(inner, "bisect", "start", "HEAD", "HEAD~1")
    run(inner, "checkout", "--quiet", "--detach")
    assert await worktrees.delete_branch(str(top), "later") is False
    run(inner, "bisect", "reset")
    run(inner, "checkout", "--quiet", "--detach")
    run(top, "symbolic-ref", "refs/heads/link", "refs/heads/later")
    assert await worktrees.delete_branch(str(top), "link") is True
    assert await worktrees.delete_branch(str(top), "later") is True
    assert run(top, "branch", "--list", "later", "link") == ""


async def test_a_status_names_everything(tmp_path: Path) -> None:
    """W2: Names every kind of change by its path, including spaces and line breaks."""
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
        words = ("-c", "user.name=x", "-c", "user.email=x@x", "merge", "--quiet", "other")
        await git(str(top), *words, needs=Needs(children=True))
    (top / "deleted").unlink()
    run(top, "mv", "renamed", "new name")
    (top / "a\nb").write_text("x")
    changes = await files(str(top))
    assert (changes.branch, changes.untracked) == ("main", ["a\nb"])
    assert dict(changes.changed) == {"conflict": "in conflict", "deleted": "deleted", "new name": "renamed"}
    own = await own_commits(str(top), "main")
    assert ([subject for _, subject in own.named], own.total) == (["Ours."], 1)


async def test_long_output_is_cut(tmp_path: Path) -> None:
    """A2: Reads only the start of an endless output; a failure is still a failure."""
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
    """W2: A ref that is written again remembers its earlier value."""
    top = make_repo(tmp_path / "repo")
    (top / "one").write_text("1")
    contents = await worktree_recovery.keep_all(str(top), "x", "First.")
    ref, inner = contents.ref, contents.inner
    assert (ref, inner) == ("refs/bough/recovery/x", [])
    (top / "one").write_text("2")
    await worktree_recovery.keep_all(str(top), "x", "Second.")
    assert run(top, "show", f"{ref}:one") == "2"
    assert run(top, "show", f"{ref}@{{1}}:one") == "1"
    assert run(top, "status", "--porcelain") == "?? one\n"


async def test_removing_a_whole_repository_keeps_its_commits(tmp_path: Path) -> None:
    """W2: Keeps commits of a submodule on another branch or in its stash, which would be lost."""
    lib, top = make_repo(tmp_path / "lib"), make_repo(tmp_path / "repo")
    local = ("-c", "protocol.file.allow=always", "submodule", "--quiet")
    run(top, *local, "add", str(lib), "lib")
    run(top, "commit", "--quiet", "--message", "Add lib.")
    tree = tmp_path / "tree"
    run(top, "worktree", "add", "--quiet", "-b", "work", str(tree))
    run(tree, *local, "update", "--init")
    inner = tree / "lib"
    assert (await own_commits(str(inner), None, remotes_only=True)).total == 0
    # A file of this name must not be mistaken for the commit.
    (inner / "HEAD").write_text("x")
    run(inner, "stash", "--include-untracked", "--quiet")
    older = run(inner, "rev-parse", "stash").strip()
    assert (await own_commits(str(inner), None, remotes_only=True)).total == 3
    (inner / "README.md").write_text("newer")
    run(inner, "stash", "--quiet")
    run(inner, "switch", "--quiet", "--create", "mine")
    run(inner, "commit", "--quiet", "--allow-empty", "--message", "Precious.")
    mine = run(inner, "rev-parse", "HEAD").strip()
    run(inner, "switch", "--quiet", "--detach", "origin/main")
    assert (await files(str(tree))).changed == []
    named = (await own_commits(str(inner), None, remotes_only=True)).named
    assert (mine, "Precious.") in named
    refs = (await worktree_recovery.keep_all(str(tree), "x", "Kept.")).inner
    below = "refs/bough/recovery-inner/x/1"
    assert refs == [f"{below}/files", f"{below}/heads/mine", f"{below}/stash/0", f"{below}/stash/1"]
    run(top, "worktree", "remove", "--force", "--force", str(tree))
    assert run(top, "rev-parse", refs[1], refs[3]).split() == [mine, older]


async def test_repositories_in_repositories(tmp_path: Path) -> None:
    """W2: Also keeps a repository without a commit and the ones inside it; keeps what an earlier removal has kept."""
    top = make_repo(tmp_path / "repo")
    for name in ("app", "app/deep", "app/deep/er"):
        (top / name).mkdir()
        run(top / name, "init", "--quiet")
        (top / name / "work.txt").write_text(name)
    refs = (await worktree_recovery.keep_all(str(top), "x", "Kept.")).inner
    assert [run(top, "show", f"{ref}:work.txt") for ref in refs] == ["app", "app/deep", "app/deep/er"]
    (top / "app" / "work.txt").write_text("later")
    later = (await worktree_recovery.keep_all(str(top), "x", "Kept again.")).inner
    assert [run(top, "show", f"{ref}:work.txt") for ref in (refs[0], later[0])] == ["app", "later"]


async def test_a_repository_that_cannot_be_kept_fails_the_removal(tmp_path: Path) -> None:
    """W2: Fails before anything is removed if git cannot copy a repository inside."""
    top = make_repo(tmp_path / "repo")
    (top / "app").mkdir()
    run(top / "app", "init", "--quiet", "--object-format=sha256")
    (top / "app" / "work.txt").write_text("x")
    with pytest.raises(GitFailed):
        await worktree_recovery.keep_all(str(top), "x", "Kept.")
