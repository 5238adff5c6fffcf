"""Attacks by links that an agent puts where a folder or file was when Bough looked: a copy or a removal must not follow
them to what is hidden from the agent, or to where it must not write."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from bough.core.worktrees.config.include import ignored_files
from bough.core.worktrees.creation.copy_files import copy_files
from bough.errors import BoughError
from bough.git.run import GitFailed
from bough.git.working_copy import restore, snapshot
from bough.git.working_copy.snapshot import SCRATCH, scratch_index, working_copy
from bough.git.worktrees import exclude
from tests.api.worktree_helpers import commit
from tests.attacks.sandbox.box_agents import Boxed, needs_sandbox
from tests.support.repos import make_repo


def _swap(folder: Path, target: Path) -> None:
    """Puts a link in the place of a folder."""
    folder.rename(folder.with_name(f"{folder.name}-before"))
    folder.symlink_to(target)


async def test_a_copy_reads_through_no_link(tmp_path: Path) -> None:
    """W1, W3: An agent in the repository's folder replaces a folder of ignored files by a link to keys while they are
    copied: none gets into the worktree, where it could read them."""
    repo, keys, tree = make_repo(tmp_path / "repo"), tmp_path / "keys", tmp_path / "tree"
    commit(repo, ".gitignore", "cache\nown\n")
    for folder in (keys, tree, repo / "cache" / "deep", repo / "own"):
        folder.mkdir(parents=True)
    for file in (keys / "id", repo / "cache" / "deep" / "id", repo / "own" / "id"):
        file.write_text(file.parent.name)
    names = await ignored_files(str(repo), ["**"])
    assert sorted(names) == ["cache/deep/id", "own/id"]
    _swap(repo / "cache" / "deep", keys)
    copy_files(str(repo), str(tree), names)
    assert (tree / "own" / "id").read_text() == "own"
    assert not (tree / "cache" / "deep" / "id").exists()


async def test_a_copy_writes_through_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W1, W3: An agent in a worktree that is set up again replaces a folder by a link: nothing is written there."""
    repo, victim, tree = tmp_path / "repo", tmp_path / "victim", tmp_path / "tree"
    for folder in (victim, tree / "sub", repo / "sub"):
        folder.mkdir(parents=True)
    for name in ("a", "b"):
        (repo / "sub" / name).write_text(name)
    original = os.utime

    def swaps(*arguments: Any, **options: Any) -> None:
        original(*arguments, **options)
        if not (tree / "sub").is_symlink():
            _swap(tree / "sub", victim)

    monkeypatch.setattr(os, "utime", swaps)
    copy_files(str(repo), str(tree), ["sub/a", "sub/b"])
    assert (tree / "sub").is_symlink() and not list(victim.iterdir())


def test_a_restore_removes_through_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W4, W3: An agent replaces a folder by a link between the check and the removal of a file in it: nobody else's
    file of that name is removed."""
    top, victim = tmp_path / "top", tmp_path / "victim"
    for folder in (top / "sub", victim):
        folder.mkdir(parents=True)
        (folder / "file").write_text("mine")
    original = os.unlink

    def swaps(path: Any, *, dir_fd: int | None = None) -> None:
        if not (top / "sub").is_symlink():
            _swap(top / "sub", victim)
        original(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", swaps)
    remove: Any = getattr(restore, "_remove")  # noqa: B009
    with contextlib.suppress(OSError, BoughError):
        remove(str(top), ["sub/file"])
    assert (victim / "file").read_text() == "mine"


async def test_an_index_is_not_read_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: While Bough copies the index for a checkpoint, an agent swaps it with a link to a key again and again. No
    copy of the key appears in the git folder, where the agent reads."""
    repo, key = make_repo(tmp_path / "repo"), tmp_path / "key"
    key.write_text("secret")
    where, index = await working_copy(str(repo)), repo / ".git" / "index"
    plain, stop = index.read_bytes(), threading.Event()

    def swaps() -> None:
        link, file = index.with_name("link"), index.with_name("file")
        while not stop.is_set():
            link.symlink_to(key)
            link.replace(index)
            file.write_bytes(plain)
            file.replace(index)

    attacker = threading.Thread(target=swaps)
    attacker.start()
    try:
        for _ in range(500):
            with contextlib.suppress(GitFailed):
                async with scratch_index(where, seeded=True):
                    copies = [file for file in index.parent.glob(f"{SCRATCH}*") if not file.is_symlink()]
                    assert all(file.read_bytes() != b"secret" for file in copies)
    finally:
        stop.set()
        attacker.join()
    assert not snapshot.IN_USE


@pytest.mark.parametrize("place", ["info", "info/exclude"])
async def test_a_worktree_is_hidden_through_no_link(tmp_path: Path, place: str) -> None:
    """S6, W3: A new worktree is listed in `info/exclude`, but not in the file to which an agent made that a link."""
    repo, victim = make_repo(tmp_path / "repo"), tmp_path / "victim"
    victim.mkdir()
    (victim / "exclude").write_text("mine\n")
    entry = repo / ".git" / place
    if place == "info":
        _swap(entry, victim)
    else:
        entry.unlink(missing_ok=True)
        entry.symlink_to(victim / "exclude")
    await exclude(str(repo / ".git"), str(repo), str(repo / ".worktrees" / "topic"))
    assert (victim / "exclude").read_text() == "mine\n"


@needs_sandbox
async def test_a_path_of_a_worktree_becomes_no_command(boxed: Boxed) -> None:
    """S6: A confined agent makes its plain folder a repository whose list of ignored files is a link to a shell's start
    file, and has a worktree created whose path is a command."""
    folder, rc = boxed.server.root / "plain", boxed.home / ".bashrc"
    folder.mkdir()
    rc.write_text("mine\n")
    row = await boxed.client.repo(folder)
    session = (await boxed.client.session(row["id"], permissionMode="bypassPermissions"))["id"]
    plant = f"mkdir -p .git/info && ln -sf {rc} .git/info/exclude"
    await boxed.run(
        session, f"{plant} && git init -q && git -c user.name=A -c user.email=a commit -q --allow-empty -m A"
    )
    body = {"repoId": row["id"], "branch": "topic", "path": "x;touch stolen;"}
    answer = await boxed.client.http.post("/api/worktrees", json=body)
    assert answer.status_code in (201, 409), answer.text
    assert rc.read_text() == "mine\n"
