"""Shows that none of the server's git calls writes through a link that an agent left where commits write."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bough.git.run import GitFailed
from bough.git.safe import landlock, written_paths
from bough.git.working_copy.snapshot import SCRATCH, scratch_index, working_copy
from tests.attacks.git.git_operations import OPERATIONS, carry_out
from tests.attacks.sandbox.box_agents import Boxed, needs_sandbox
from tests.support.repos import allow_programs, git, make_repo

needs_landlock = pytest.mark.skipif(landlock.version() == 0, reason="The kernel has no Landlock.")


@dataclass
class Target:
    """A working copy with its git folders, and a folder of somebody else."""

    cwd: Path
    git_dir: Path
    common: Path
    victim: Path


def _link(path: Path, target: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rename(target)
    elif path.exists():
        target.write_bytes(path.read_bytes())
        path.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def _heads_log(at: Target) -> None:
    _link(at.git_dir / "logs" / "HEAD", at.victim / "log")


def _branch_logs(at: Target) -> None:
    _link(at.common / "logs" / "refs" / "heads", at.victim / "logs")


def _log_of_a_branch_to_come(at: Target) -> None:
    _link(at.common / "logs" / "refs" / "heads" / "fork", at.victim / "file")


def _logs_of_our_refs(at: Target) -> None:
    (at.victim / "logs").mkdir()
    _link(at.common / "logs" / "refs" / "bough", at.victim / "logs" / "bough")


def _a_branch_to_come(at: Target) -> None:
    _link(at.common / "refs" / "heads" / "fork", at.victim / "new")


def _index(at: Target) -> None:
    _link(at.git_dir / "index", at.victim / "index")


def _head(at: Target) -> None:
    _link(at.git_dir / "HEAD", at.victim / "HEAD")


def _packed_refs(at: Target) -> None:
    git(at.cwd, "pack-refs", "--all")
    _link(at.common / "packed-refs", at.victim / "packed-refs")


def _objects(at: Target) -> None:
    (at.victim / "objects").mkdir()
    for number in range(256):
        folder = at.common / "objects" / f"{number:02x}"
        if not folder.exists():
            folder.symlink_to(at.victim / "objects")


def _worktrees(at: Target) -> None:
    (at.victim / "worktrees").mkdir()
    if not (at.common / "worktrees").exists():
        (at.common / "worktrees").symlink_to(at.victim / "worktrees")


def _another_common_folder(at: Target) -> None:
    other = make_repo(at.victim / "other")
    if at.git_dir == at.common:
        (at.git_dir / "commondir").write_text(f"{other}/.git\n")


LINKS: list[Callable[[Target], None]] = [
    *(_heads_log, _branch_logs, _log_of_a_branch_to_come, _logs_of_our_refs, _a_branch_to_come, _index, _head),
    *(_packed_refs, _objects, _worktrees, _another_common_folder),
]


def _make(folder: Path, *, linked: bool) -> Target:
    repo = make_repo(folder / "repo")
    (repo / "README.md").write_text("More.\n")
    git(repo, "commit", "--quiet", "--all", "--message", "More.")
    git(repo, "branch", "other", "HEAD~1")
    (folder / "victim").mkdir()
    (folder / "victim" / "file").write_text("mine\n")
    cwd, git_dir = repo, repo / ".git"
    if linked:
        cwd, git_dir = folder / "work", repo / ".git" / "worktrees" / "work"
        git(repo, "worktree", "add", "--quiet", "-b", "topic", str(cwd))
    (cwd / "README.md").write_text("Changed.\n")
    return Target(cwd, git_dir, repo / ".git", folder / "victim")


def _content(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if not file.is_dir()]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


async def _attack(at: Target, plant: Callable[[Target], None]) -> None:
    plant(at)
    before = _content(at.victim)
    for operation in OPERATIONS:
        refused = await carry_out(operation, at.cwd)
        assert _content(at.victim) == before, f"{operation.__name__} wrote there; it said: {refused}"


@needs_landlock
@pytest.mark.parametrize("linked", [False, True], ids=["repository", "worktree"])
@pytest.mark.parametrize("plant", LINKS)
async def test_git_writes_nothing_elsewhere(tmp_path: Path, plant: Callable[[Target], None], linked: bool) -> None:
    """S6: Whatever links there are in a git folder, the kernel keeps our git inside the repository."""
    await _attack(_make(tmp_path, linked=linked), plant)


@needs_landlock
@pytest.mark.parametrize("plant", LINKS)
async def test_the_kernel_alone_prevents_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[Target], None]
) -> None:
    """S6: Also links that an agent creates after Bough has looked for them."""

    def nothing(*_: object, **__: object) -> None:
        return None

    monkeypatch.setattr(written_paths, "link_out", nothing)
    await _attack(_make(tmp_path, linked=False), plant)


@pytest.mark.parametrize("linked", [False, True], ids=["repository", "worktree"])
@pytest.mark.parametrize("plant", [plant for plant in LINKS if plant is not _another_common_folder])
async def test_links_are_refused_without_the_kernels_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[Target], None], linked: bool
) -> None:
    """S6: The same on a machine without Landlock, for links that are there before."""
    monkeypatch.setattr(landlock, "version", lambda: 0)
    await _attack(_make(tmp_path, linked=linked), plant)


async def test_links_are_refused_where_hooks_may_run(tmp_path: Path) -> None:
    """S6: A person's hooks and filters write anywhere, so git is not limited then; links are still refused."""
    at = _make(tmp_path, linked=False)
    allow_programs(at.cwd)
    await _attack(at, _log_of_a_branch_to_come)


@pytest.mark.parametrize("name", ["config", "hooks/pre-commit", "info/exclude"])
async def test_git_writes_no_settings_through_a_link(tmp_path: Path, name: str) -> None:
    """S6: A link inside the git folder does not lead to what git runs, either."""
    at = _make(tmp_path, linked=False)
    file = at.common / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(file.read_text() if file.exists() else "#!/bin/sh\n")
    for log in ("HEAD", "refs/heads/main", "refs/heads/fork"):
        path = at.common / "logs" / log
        path.unlink(missing_ok=True)
        path.symlink_to(file)
    before = file.read_bytes()
    for operation in OPERATIONS:
        await carry_out(operation, at.cwd)
    assert file.read_bytes() == before or (name == "info/exclude" and b"main" not in file.read_bytes())


@needs_sandbox
async def test_an_agent_makes_bough_write_nothing_outside(boxed: Boxed) -> None:
    """S6: A confined agent leaves links for the branches and locks to come; Bough does not follow them."""
    session = await boxed.session()
    file = boxed.home / ".bashrc"
    file.write_text("mine\n")
    logs = "mkdir -p .git/logs/refs/heads && ln -s ~/.bashrc .git/logs/refs/heads/topic"
    assert await boxed.run(session, f"{logs} && ln -s ~/new .git/bough.lock && echo done") == "done\n"
    body = {"repoId": boxed.repo_id, "branch": "topic"}
    answer = await boxed.client.http.post("/api/worktrees", json=body)
    assert answer.status_code == 409 and "bough.lock" in answer.text
    os.unlink(boxed.repo / ".git" / "bough.lock")
    answer = await boxed.client.http.post("/api/worktrees", json=body)
    assert answer.status_code == 409 and "is a link" in answer.text
    assert file.read_text() == "mine\n" and not (boxed.home / "new").exists()


async def test_a_hidden_file_is_not_copied(tmp_path: Path) -> None:
    """S6: Bough copies the index for its checkpoints into the git folder, where an agent reads; a link to a key is not
    copied."""
    at = _make(tmp_path, linked=False)
    (at.victim / "key").write_text("secret")
    (at.git_dir / "index").unlink()
    (at.git_dir / "index").symlink_to(at.victim / "key")
    with pytest.raises(GitFailed, match="is a link"):
        async with scratch_index(await working_copy(str(at.cwd)), seeded=True):
            pass
    assert not list(at.git_dir.glob(f"{SCRATCH}*"))
