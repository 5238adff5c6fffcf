"""Tests that the contents of a removed worktree can be recovered, whatever step fails."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bough.core.worktrees.removal import remove
from bough.git import worktrees
from bough.git.run import GitFailed
from bough.model.session import Caller
from tests.api.error_responses import Json, refused
from tests.api.worktree_helpers import at, commit, fails, head, made, registered, works
from tests.support.repos import git, make_repo
from tests.support.server import Running


async def test_commits_in_submodules_are_kept(server: Running) -> None:
    """W2: A commit on another branch of a clean submodule blocks a removal, and is kept if the removal is forced."""
    top, lib = server.repo(), make_repo(server.root / "lib")
    local = ("-c", "protocol.file.allow=always", "submodule", "--quiet")
    git(top, *local, "add", str(lib), "lib")
    git(top, "commit", "--quiet", "--message", "Add lib.")
    tree = await made(server.client, await server.client.repo(top))
    folder = at(tree["path"])
    git(folder, *local, "update", "--init")
    git(folder / "lib", "switch", "--quiet", "--create", "mine")
    sha = commit(folder / "lib", "a.txt", message="Precious.")
    git(folder / "lib", "switch", "--quiet", "--detach", "origin/main")
    path = f"/api/worktrees/{tree['id']}"
    error = refused(await server.client.http.delete(path), 409, "worktree_dirty")
    assert error["details"]["commits"] == [{"sha": sha, "subject": "lib: Precious."}]
    gone = await server.client.call("DELETE", f"{path}?force=true")
    assert not folder.exists()
    assert head(top, gone["innerRefs"][1]) == sha


async def test_the_recovery_ref_is_stored_first(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """W2: The row names the recovery ref before git removes the folder, so a crash cannot lose it."""
    tree = await made(server.client, await registered(server))
    at(tree["path"], "new.txt").write_text("x")
    path = f"/api/worktrees/{tree['id']}"
    seen: list[Json] = []
    really = worktrees.remove

    async def remove(repo: str, folder: str, *, force: bool) -> None:
        seen.append(await server.client.get(path))
        await really(repo, folder, force=force)

    monkeypatch.setattr(worktrees, "remove", remove)
    gone = await server.client.call("DELETE", f"{path}?force=true")
    assert [item["recoveryRef"] for item in seen] == [gone["recoveryRef"]]
    assert gone["recoveryRef"] is not None


async def test_a_stopping_server_finishes_a_removal(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """W2: A removal whose caller has gone is finished before the server stops."""
    tree = await made(server.client, await registered(server))
    service = server.services.worktrees
    started, may_remove = asyncio.Event(), asyncio.Event()
    really = worktrees.remove

    async def remove(repo: str, folder: str, *, force: bool) -> None:
        started.set()
        await may_remove.wait()
        await really(repo, folder, force=force)

    monkeypatch.setattr(worktrees, "remove", remove)
    request = asyncio.create_task(service.remove(Caller(), tree["id"]))
    await started.wait()
    request.cancel()
    await asyncio.wait([request])
    closing = asyncio.create_task(service.close())
    done, _ = await asyncio.wait([closing], timeout=0)
    assert (request.cancelled(), done) == (True, set())
    may_remove.set()
    await closing
    assert not at(tree["path"]).exists()
    assert (await server.client.get(f"/api/worktrees/{tree['id']}"))["removedAt"] is not None


async def test_a_stopping_server_cuts_off_a_removal_that_hangs(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W2: A removal that does not finish does not keep the server from stopping, and can be repeated."""
    tree = await made(server.client, await registered(server))
    service = server.services.worktrees
    started = asyncio.Event()

    async def hang(*_folders: str, force: bool) -> None:
        started.set()
        await asyncio.Event().wait()

    with monkeypatch.context() as patch:
        patch.setattr(worktrees, "remove", hang)
        patch.setattr(remove, "FINISH_WITHIN", 0.01)
        request = asyncio.create_task(service.remove(Caller(), tree["id"]))
        await started.wait()
        await service.close()
        await asyncio.wait([request])
    path = f"/api/worktrees/{tree['id']}"
    assert (await server.client.get(path))["status"] == "ready"
    await server.client.call("DELETE", path)
    assert not at(tree["path"]).exists()


Cut = Callable[[Path, Path], None]


def gone_but_listed(_top: Path, folder: Path) -> None:
    shutil.rmtree(folder)


def gone(top: Path, folder: Path) -> None:
    git(top, "worktree", "remove", "--force", str(folder))


def half_gone(_top: Path, folder: Path) -> None:
    (folder / "new.txt").unlink()
    (folder / "README.md").unlink()


def half_gone_without_git(top: Path, folder: Path) -> None:
    half_gone(top, folder)
    (folder / ".git").unlink()


@pytest.mark.parametrize("cut", [gone_but_listed, gone, half_gone, half_gone_without_git])
async def test_an_interrupted_removal_is_finished(server: Running, monkeypatch: pytest.MonkeyPatch, cut: Cut) -> None:
    """W2: Repeating a removal that was killed, also while it deleted files, keeps what it stored before."""
    repo = await registered(server)
    tree = await made(server.client, repo)
    folder, path = at(tree["path"]), f"/api/worktrees/{tree['id']}"
    (folder / "new.txt").write_text("x")
    await _cut_off(server, monkeypatch, at(repo["path"]), folder, path, cut)
    row = await server.client.get(path)
    if row["removedAt"] is None:
        row = await server.client.call("DELETE", f"{path}?force=true")
    assert git(at(repo["path"]), "show", f"{row['recoveryRef']}:new.txt") == "x"
    await server.client.post(f"{path}/recover")
    assert (folder / "new.txt").read_text() == "x" and (folder / "README.md").exists()


async def test_work_after_an_interrupted_removal_is_kept_too(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """W2: If files changed after a removal was killed, the repeat keeps them as they are then, and what the first one
    stored on another ref."""
    repo = await registered(server)
    tree = await made(server.client, repo)
    folder, path = at(tree["path"]), f"/api/worktrees/{tree['id']}"
    (folder / "new.txt").write_text("x")
    await _cut_off(server, monkeypatch, at(repo["path"]), folder, path, half_gone)
    (folder / "later.txt").write_text("later")
    removed = await server.client.call("DELETE", f"{path}?force=true")
    assert git(at(repo["path"]), "show", f"{removed['recoveryRef']}:later.txt") == "later"
    assert git(at(repo["path"]), "show", f"{removed['innerRefs'][0]}:new.txt") == "x"
    await server.client.post(f"{path}/recover")
    assert (folder / "later.txt").read_text() == "later"
    again = await server.client.call("DELETE", f"{path}?force=true")
    assert again["innerRefs"] == []


async def _cut_off(
    server: Running, monkeypatch: pytest.MonkeyPatch, top: Path, folder: Path, path: str, cut: Cut
) -> None:
    """Lets a removal fail in the middle, as if git was killed."""

    async def killed(_repo: str, _path: str, *, force: bool) -> None:
        assert force
        cut(top, folder)
        raise GitFailed("git_failed", "git worktree failed: -9")

    with monkeypatch.context() as patched:
        patched.setattr(worktrees, "remove", killed)
        refused(await server.client.http.delete(f"{path}?force=true"), 409, "git_failed")


async def test_a_failed_recovery_can_be_repeated(server: Running) -> None:
    """W2: If the last step fails, the folder is removed again and the worktree can be recovered once more."""
    tree = await made(server.client, await registered(server))
    folder, path = at(tree["path"]), f"/api/worktrees/{tree['id']}"
    (folder / "new.txt").write_text("x")
    await server.client.call("DELETE", f"{path}?force=true")
    fails(server, "worktrees", "NEW.removed_at IS NULL")
    refused(await server.client.http.post(f"{path}/recover"), 409, "constraint_other")
    assert not folder.exists()
    row = await server.client.get(path)
    assert (row["status"], row["removedAt"] is None) == ("ready", False)
    works(server)
    await server.client.post(f"{path}/recover")
    assert (folder / "new.txt").read_text() == "x"


async def test_an_undo_that_fails_can_be_repeated(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """W2: If a failed recovery cannot be undone either, its row says so; the next recovery undoes it first, and nothing
    is lost."""
    tree = await made(server.client, await registered(server))
    folder, path = at(tree["path"]), f"/api/worktrees/{tree['id']}"
    (folder / "new.txt").write_text("x")
    await server.client.call("DELETE", f"{path}?force=true")
    fails(server, "worktrees", "NEW.removed_at IS NULL")

    async def stuck(_repo: str, _path: str) -> bool:
        raise OSError("Device or resource busy")

    with monkeypatch.context() as patched:
        patched.setattr(worktrees, "clear", stuck)
        refused(await server.client.http.post(f"{path}/recover"), 409, "constraint_other")
    row = await server.client.get(path)
    assert (row["status"], row["removedAt"] is None) == ("recovering", False)
    works(server)
    back = await server.client.post(f"{path}/recover")
    assert (back["status"], back["removedAt"]) == ("ready", None)
    assert (folder / "new.txt").read_text() == "x"


async def test_a_branch_that_looks_like_an_option(server: Running) -> None:
    """W1, W2: A branch cannot be created with such a name; a worktree that has one is recovered on its commit."""
    repo = await registered(server)
    top = at(repo["path"])
    body = {"repoId": repo["id"], "branch": "--force"}
    refused(await server.client.http.post("/api/worktrees", json=body), 400, "bad_branch")
    tree = await made(server.client, repo)
    folder, path = at(tree["path"]), f"/api/worktrees/{tree['id']}"
    git(top, "update-ref", "refs/heads/--detach", "main")
    git(folder, "symbolic-ref", "HEAD", "refs/heads/--detach")
    (folder / "new.txt").write_text("x")
    await server.client.call("DELETE", f"{path}?force=true")
    back = await server.client.post(f"{path}/recover")
    assert (back["branch"], head(folder)) == (None, head(top))
    assert (folder / "new.txt").read_text() == "x"
