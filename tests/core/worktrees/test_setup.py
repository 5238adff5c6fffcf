"""Tests the setup of new worktrees: submodules, copied ignored files, and the repo's own command."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from pathspec import GitIgnoreSpec

from bough.core.worktrees.config import include
from bough.core.worktrees.creation import copy_files
from bough.core.worktrees.repos import RepoPatch
from bough.errors import Denied
from bough.model.session import Caller
from tests.api.error_responses import Json, refused
from tests.api.worktree_helpers import at, branches, commit, head, hook, known_to_git, made, registered
from tests.support.eventually import eventually
from tests.support.repos import git, make_repo
from tests.support.server import Running, ServerProcess, serving


async def configured(server: Running, **fields: object) -> Json:
    """Creates a repository with a .gitignore and these setup settings."""
    repo = await registered(server)
    commit(at(repo["path"]), ".gitignore", ".env\ncache/\nlink\n")
    return await server.client.call("PATCH", f"/api/repos/{repo['id']}", json=fields)


def ended(pid: int) -> bool:
    """Tells whether a process has ended, including as a zombie."""
    try:
        return "\nState:\tZ" in at(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


async def test_matching_files_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R1: Patterns are compared with each of perhaps hundreds of thousands of files beside the event loop."""
    repo = make_repo(tmp_path / "repo")
    commit(repo, ".gitignore", "*.env\n")
    (repo / "a.env").touch()
    threads: set[threading.Thread] = set()

    class Watched(GitIgnoreSpec):
        def match_file(self, *args: Any, **kwargs: Any) -> bool:
            threads.add(threading.current_thread())
            return super().match_file(*args, **kwargs)

    monkeypatch.setattr(include, "GitIgnoreSpec", Watched)
    assert await include.ignored_files(str(repo), ["*.env"]) == ["a.env"]
    assert threads and threading.main_thread() not in threads


async def test_the_settings_of_a_repository(server: Running) -> None:
    """R1, A2: A repository's setup command and copied files can be changed, and only by a person."""
    repo = await registered(server)
    assert (repo["setup"], repo["copyIgnored"]) == ([], [])
    path = f"/api/repos/{repo['id']}"
    async with server.client.events() as events:
        changed = await server.client.call(
            "PATCH", path, json={"setup": ["npm", "ci"], "copyIgnored": [".env", "a/**"]}
        )
        assert (await events.until(lambda event: event["type"] == "repo.patched"))["data"] == changed
    assert (changed["setup"], changed["copyIgnored"], changed["name"]) == (["npm", "ci"], [".env", "a/**"], "repo")
    assert await server.client.get(path) == changed
    cleared = await server.client.call("PATCH", path, json={"setup": [], "copyIgnored": None, "name": "New"})
    assert (cleared["setup"], cleared["copyIgnored"], cleared["name"]) == ([], [], "New")
    for body, code in (
        ({"setup": [" "]}, "bad_setup"),
        ({"setup": ["x"] * 201}, "bad_setup"),
        ({"copyIgnored": ["../x"]}, "bad_glob"),
        ({"copyIgnored": ["/etc/passwd"]}, "bad_glob"),
        ({"copyIgnored": [".git/config"]}, "bad_glob"),
        ({"copyIgnored": [""]}, "bad_glob"),
        ({}, "nothing_to_change"),
    ):
        refused(await server.client.http.patch(path, json=body), 400, code)
    agent = Caller(kind="session", id=repo["id"])
    for patch in (RepoPatch(setup=["true"]), RepoPatch(copy_ignored=["x"])):
        with pytest.raises(Denied, match="Only a person"):
            await server.services.repos.patch(agent, repo["id"], patch)


async def test_ignored_files_are_copied(server: Running, tmp_path: Path) -> None:
    """W1: Copies ignored files that match, links as links; tracked, untracked and existing files are not copied."""
    repo = await configured(server, copyIgnored=[".env", "cache/**", "link", "README.md", "untracked", "**/.env"])
    top = at(repo["path"])
    (top / "cache" / "deep").mkdir(parents=True)
    (top / ".env").write_text("KEY=1\n")
    (top / ".env").chmod(0o600)
    (top / "cache" / "deep" / "x").write_text("x")
    (top / "link").symlink_to("cache/deep")
    (top / "untracked").write_text("no")
    first = await made(server.client, repo, "first")
    folder = at(first["path"])
    assert (first["status"], first["setupError"]) == ("ready", None)
    assert (folder / ".env").read_text() == "KEY=1\n"
    assert (folder / ".env").stat().st_mode & 0o777 == 0o600
    assert (folder / "cache" / "deep" / "x").read_text() == "x"
    assert (folder / "link").readlink() == at("cache/deep")
    assert not (folder / "untracked").exists()
    assert git(folder, "status", "--porcelain") == ""
    # Other worktrees are not copied, and a link in the branch does not redirect copies outside.
    outside = tmp_path / "outside"
    outside.mkdir()
    git(top, "switch", "--quiet", "--create", "trap")
    (top / "cache").rename(top / "old")
    (top / "cache").symlink_to(outside)
    git(top, "add", "--force", "cache")
    git(top, "commit", "--quiet", "--message", "Trap.")
    git(top, "switch", "--quiet", "main")
    (top / "old").rename(top / "cache")
    trapped = await made(server.client, repo, "trap")
    assert list(outside.iterdir()) == []
    assert not at(trapped["path"], ".worktrees").exists()


async def test_too_much_is_not_copied(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """W1: Nothing is copied above the size limit, and the worktree says so."""
    monkeypatch.setattr(copy_files, "LARGEST_COPY", 10)
    repo = await configured(server, copyIgnored=[".env"])
    at(repo["path"], ".env").write_text("x" * 11)
    tree = await made(server.client, repo)
    assert "narrower" in tree["setupError"]
    assert not at(tree["path"], ".env").exists()


async def test_the_command_runs_in_the_worktree(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """W1, Y4: The setup command runs without a shell, after the files are copied, and without Bough's own variables but
    for the worktree's ports."""
    monkeypatch.setenv("BOUGH_SECRET", "s")
    script = "cat .env; pwd; env | grep ^BOUGH_ | grep -vc ^BOUGH_PORT; echo $0 > made"
    repo = await configured(server, copyIgnored=[".env"], setup=["sh", "-c", script, "a b; echo $HOME"])
    at(repo["path"], ".env").write_text("KEY=1\n")
    async with server.client.events() as events:
        tree = await made(server.client, repo)
        first = await events.until(lambda event: event["type"] == "worktree.created")
        last = await events.until(
            lambda event: event["type"] == "worktree.patched" and event["data"]["status"] == "ready"
        )
    assert first["data"]["status"] == "setting_up"
    assert last["data"] == tree
    # `grep -c` prints 0 and fails, and the shell continues.
    assert tree["setupOutput"] == f"KEY=1\n{tree['path']}\n0\n"
    assert tree["setupError"] is None
    assert at(tree["path"], "made").read_text() == "a b; echo $HOME\n"


async def test_a_failed_setup_is_reported(server: Running) -> None:
    """W1: If the setup fails, the worktree stays, and has the error and the command's last output."""
    repo = await configured(server, setup=["sh", "-c", "echo started; echo oh no >&2; exit 3"])
    tree = await made(server.client, repo)
    assert tree["setupError"] == "The setup command 'sh' exited with 3."
    assert tree["setupOutput"] == "started\noh no\n"
    assert at(tree["path"], "README.md").exists()
    await server.client.call("PATCH", f"/api/repos/{repo['id']}", json={"setup": ["no such program"]})
    missing = await made(server.client, repo, "other")
    assert "could not be started" in missing["setupError"]


async def test_a_setup_has_a_time_limit(tmp_path: Path) -> None:
    """W1: A setup that takes too long is ended together with its child processes."""
    async with serving(tmp_path, setup_timeout=3) as server:
        repo = await configured(server, setup=["sh", "-c", "sleep 1000 & echo $! > pid; wait"])
        tree = await made(server.client, repo)
        assert "took longer" in tree["setupError"]
        assert ended(int(at(tree["path"], "pid").read_text()))


async def test_a_setup_can_run_in_the_background(server: Running) -> None:
    """W1: `wait: false` answers at once; sessions are refused until the setup has ended, and a forced removal ends
    it."""
    repo = await configured(server, setup=["sh", "-c", "echo going; while test ! -e go; do sleep 0.02; done"])
    tree = await made(server.client, repo, wait=False)
    assert tree["status"] == "setting_up"
    body = {"worktreeId": tree["id"], "agent": "demo"}
    refused(await server.client.http.post("/api/sessions", json=body), 409, "worktree_busy")
    refused(await server.client.http.delete(f"/api/worktrees/{tree['id']}"), 409, "worktree_busy")
    async with server.client.events() as events:
        at(tree["path"], "go").touch()
        await events.until(lambda event: event["type"] == "worktree.patched" and event["data"]["status"] == "ready")
    at(tree["path"], "go").unlink()
    assert (await server.client.post("/api/sessions", body))["worktreeId"] == tree["id"]
    hanging = await made(server.client, repo, "hanging", wait=False)
    gone = await server.client.call("DELETE", f"/api/worktrees/{hanging['id']}?force=true")
    assert gone["removedAt"] is not None
    assert not at(hanging["path"]).exists()


async def test_submodules_are_checked_out(server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W1: Submodules are checked out if a person and git's configuration allow it; if not, the worktree says so."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    inner = make_repo(server.root / "inner")
    top = server.repo()
    git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "lib")
    git(top, "commit", "--quiet", "--message", "Add lib.")
    repo = await server.client.repo(top)
    unasked = await made(server.client, repo, "unasked")
    assert "nobody allowed" in unasked["setupError"] and not any(at(unasked["path"], "lib").iterdir())
    await server.client.allow_git(repo["id"], submodules=True)
    kept_out = await made(server.client, repo, "kept-out")
    assert "not allowed" in kept_out["setupError"]
    assert kept_out["status"] == "ready"
    (home / ".gitconfig").write_text('[protocol "file"]\n\tallow = always\n')
    trees = await asyncio.gather(*(made(server.client, repo, f"in{number}") for number in range(4)))
    for tree in trees:
        assert tree["setupError"] is None
        assert head(at(tree["path"], "lib")) == head(inner)
    # Removing the worktree would lose commits that exist only in its copy of the submodule.
    path = f"/api/worktrees/{trees[0]['id']}"
    commit(at(trees[0]["path"], "lib"), "new.txt", message="Inside.")
    error = refused(await server.client.http.delete(path), 409, "worktree_dirty")
    assert [file["path"] for file in error["details"]["files"]] == ["lib"]
    assert [item["subject"] for item in error["details"]["commits"]] == ["lib: Inside."]
    gone = await server.client.call("DELETE", f"{path}?force=true")
    (ref,) = gone["innerRefs"]
    assert git(top, "show", f"{ref}:new.txt") == "text\n"
    await server.client.call("DELETE", f"/api/worktrees/{trees[1]['id']}")
    assert not at(trees[1]["path"]).exists()


async def test_a_kill_during_creation(tmp_path: Path) -> None:
    """W1, Q4: After a kill during creation, the next server undoes it, and the same key creates the worktree again."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        top = make_repo(server.root / "repo")
        hook(top, "post-checkout", f"touch '{tmp_path}/hooked'; while test ! -e '{tmp_path}/go'; do sleep 0.02; done")
        async with server.client() as client:
            repo = await client.repo(top)
            await client.allow_git(repo["id"], hooks=True)
            body = {"repoId": repo["id"], "branch": "deep/x", "idempotencyKey": "k"}
            asking = asyncio.create_task(client.http.post("/api/worktrees", json=body))
            await eventually((tmp_path / "hooked").exists, "git runs the hook")
            await server.stop(signal.SIGKILL)
            await asyncio.wait([asking])
        assert known_to_git(top) == [str(top / ".worktrees" / "deep" / "x")]
        (tmp_path / "go").touch()
        await server.start()
        async with server.client() as client:
            assert (await client.get("/api/worktrees"))["total"] == 0
            assert known_to_git(top) == []
            assert branches(top) == ["main"]
            assert not (top / ".worktrees").exists()
            tree = await client.post("/api/worktrees", body)
            assert at(tree["path"], "README.md").exists()


async def test_a_kill_during_setup(tmp_path: Path) -> None:
    """W1, Q4: After a kill during setup, the worktree exists and says that its setup was interrupted."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        top = make_repo(server.root / "repo")
        async with server.client() as client:
            repo = await client.repo(top)
            script = "echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 1000"
            await client.call("PATCH", f"/api/repos/{repo['id']}", json={"setup": ["sh", "-c", script]})
            tree = await made(client, repo, wait=False)
            pid = at(tree["path"], "pid")
            await eventually(pid.exists, "the setup starts")
            await server.stop(signal.SIGKILL)
            os.kill(int(pid.read_text()), signal.SIGKILL)
        await server.start()
        async with server.client() as client:
            row = await client.get(f"/api/worktrees/{tree['id']}")
            assert row["status"] == "ready"
            assert "interrupted" in row["setupError"]
