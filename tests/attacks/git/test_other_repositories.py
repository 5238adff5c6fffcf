"""Shows that a folder which an agent connects with the repository of somebody else does not make our git work there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bough.git.run import GitFailed
from bough.git.run import git as run_git
from bough.git.working_copy.snapshot import take
from tests.attacks.git.git_operations import OPERATIONS, carry_out
from tests.attacks.sandbox.box_agents import Boxed, needs_sandbox
from tests.support.repos import git, make_repo


def _file(folder: Path, victim: Path) -> None:
    (folder / ".git").write_text(f"gitdir: {victim}/.git\n")


def _link(folder: Path, victim: Path) -> None:
    (folder / ".git").symlink_to(victim / ".git")


def _worktree(folder: Path, victim: Path) -> None:
    git(victim, "worktree", "add", "--quiet", "-b", "other", str(victim.parent / "other"))
    (folder / ".git").write_text(f"gitdir: {victim}/.git/worktrees/other\n")


def _forged_worktree(folder: Path, victim: Path) -> None:
    forged = folder / "forged" / "worktrees" / "x"
    forged.mkdir(parents=True)
    (forged / "HEAD").write_text("ref: refs/heads/main\n")
    (forged / "commondir").write_text(f"{victim}/.git\n")
    (forged / "gitdir").write_text(f"{folder}/.git\n")
    (folder / ".git").write_text(f"gitdir: {forged}\n")


def _submodule(folder: Path, victim: Path) -> None:
    (victim / ".git" / "modules").mkdir()
    (victim / ".git" / "modules" / "x").symlink_to(victim / ".git")
    (folder / ".git").write_text(f"gitdir: {victim}/.git/modules/x\n")


PLANTS: list[Callable[[Path, Path], None]] = [_file, _link, _worktree, _forged_worktree, _submodule]


def _content(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.mark.parametrize("plant", PLANTS)
async def test_no_other_repository_is_written(tmp_path: Path, plant: Callable[[Path, Path], None]) -> None:
    """S6: Whatever the `.git` of a folder names, none of the server's git calls changes somebody else's repository."""
    victim, folder = make_repo(tmp_path / "victim"), tmp_path / "plain"
    folder.mkdir()
    (folder / "file").write_text("new\n")
    plant(folder, victim)
    before = _content(victim)
    for operation in OPERATIONS:
        refused = await carry_out(operation, folder)
        assert _content(victim) == before, f"{operation.__name__} wrote there; it said: {refused}"


async def test_own_git_folders_elsewhere_work(tmp_path: Path) -> None:
    """S6: A worktree, a submodule of a worktree and a git folder that a person keeps elsewhere are no attack. For a
    worktree that was moved, the error says what to do."""
    repo, inner = make_repo(tmp_path / "repo"), make_repo(tmp_path / "inner")
    words = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    git(repo, *words)
    git(repo, "commit", "--quiet", "--message", "Add a submodule.")
    tree = tmp_path / "tree"
    git(repo, "worktree", "add", "--quiet", "-b", "topic", str(tree))
    git(tree, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    apart = tmp_path / "apart"
    git(tmp_path, "init", "--quiet", "--separate-git-dir", str(tmp_path / "elsewhere"), str(apart))
    for folder in (repo, repo / "sub", tree, tree / "sub", apart):
        assert (await run_git(str(folder), "rev-parse", "--is-inside-work-tree")).strip() == "true"
        (folder / "file").write_text("new\n")
        assert (await take(str(folder))).dirty
    tree.rename(tmp_path / "moved")
    with pytest.raises(GitFailed, match="git worktree repair"):
        await take(str(tmp_path / "moved"))
    git(tmp_path / "moved", "worktree", "repair")
    assert (await take(str(tmp_path / "moved"))).dirty


@needs_sandbox
async def test_a_plain_folder_opens_no_hidden_repository(boxed: Boxed) -> None:
    """S6: A confined agent connects its plain folder with a repository that its box hides. No worktree with its files
    is created, and no checkpoint gets into it."""
    home, folder = boxed.server.root / "home", boxed.server.root / "plain"
    hidden = make_repo(home / ".password-store")
    (hidden / "bank.gpg").write_text("secret")
    git(hidden, "add", "bank.gpg")
    git(hidden, "commit", "--quiet", "--message", "Add a secret.")
    before = _content(hidden)
    folder.mkdir()
    row = await boxed.client.repo(folder)
    fields = {"permissionMode": "bypassPermissions", "env": {"HOME": str(home)}}
    session = (await boxed.client.session(row["id"], **fields))["id"]
    assert await boxed.run(session, f"ls {hidden}; echo 'gitdir: {hidden}/.git' > .git; echo done") == "done\n"
    body = {"repoId": row["id"], "branch": "topic", "path": "sub"}
    answer = await boxed.client.http.post("/api/worktrees", json=body)
    assert answer.status_code == 409, answer.text
    assert not (folder / "sub").exists() and _content(hidden) == before
