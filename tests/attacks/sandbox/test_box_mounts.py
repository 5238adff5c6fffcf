"""Attacks that wait until Bough replaces or removes what is read-only in a running box: the kernel then takes the mount
away, and the agent could write what was protected."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.sandbox.box_agents import Boxed, disguised, needs_sandbox
from tests.support.repos import git, make_repo


async def _change_settings(boxed: Boxed, session: str) -> str:
    """Lets an agent try to write what git runs, and returns what has become of the configuration."""
    await boxed.run(session, disguised("git config core.fsmonitor /bin/evil; echo evil >> .git/config; true"))
    return (boxed.repo / ".git" / "config").read_text()


@needs_sandbox
async def test_settings_stay_closed_when_a_branch_is_deleted(boxed: Boxed) -> None:
    """S6: Deleting the branch of a worktree leaves the configuration file in its place."""
    main = await boxed.session()
    await boxed.run(main, "true")
    worktree = await boxed.client.post("/api/worktrees", {"repoId": boxed.repo_id, "branch": "topic"})
    gone = await boxed.client.call("DELETE", f"/api/worktrees/{worktree['id']}?branch=delete&force=true")
    assert gone["branchDeleted"] is True
    assert "evil" not in await _change_settings(boxed, main)


@needs_sandbox
async def test_settings_stay_closed_when_a_branch_follows_a_remote(boxed: Boxed) -> None:
    """S6: A worktree of a remote branch gets its upstream without a new configuration file."""
    other = make_repo(boxed.server.root / "other")
    git(other, "branch", "shared")
    git(boxed.repo, "remote", "add", "origin", str(other))
    git(boxed.repo, "fetch", "--quiet", "origin")
    main = await boxed.session()
    await boxed.run(main, "true")
    work = await boxed.session(worktree={"branch": "shared"})
    cwd = Path((await boxed.client.get(f"/api/sessions/{work}"))["cwd"])
    assert git(cwd, "rev-parse", "--abbrev-ref", "shared@{upstream}") == "origin/shared\n"
    assert "evil" not in await _change_settings(boxed, main)


@needs_sandbox
async def test_worktrees_stay_closed_without_any(boxed: Boxed) -> None:
    """S6: When the last worktree is removed, an agent in the repository's own folder cannot prepare the next one."""
    main = await boxed.session()
    await boxed.run(main, "true")
    folder = boxed.repo / ".git" / "worktrees"
    worktree = await boxed.client.post("/api/worktrees", {"repoId": boxed.repo_id, "branch": "topic"})
    await boxed.client.call("DELETE", f"/api/worktrees/{worktree['id']}?force=true")
    git(boxed.repo, "worktree", "prune", "--verbose", "--expire", "now")
    git(boxed.repo, "gc", "--quiet", "--prune=now")
    command = f"rmdir {folder}; mkdir -p {folder}/next; echo evil > {folder}/next/commondir; ln -s /tmp {folder}; true"
    await boxed.run(main, disguised(command))
    assert not (folder / "next").exists() and not folder.is_symlink()
    # Git does not take what keeps the folder there for a worktree.
    assert len(git(boxed.repo, "worktree", "list").splitlines()) == 1
    assert git(boxed.repo, "fsck") == ""
    assert (await boxed.client.post("/api/worktrees", {"repoId": boxed.repo_id, "branch": "next"}))["branch"] == "next"


@needs_sandbox
@pytest.mark.parametrize("worktree", [False, True])
async def test_settings_of_one_working_copy_stay_closed(boxed: Boxed, worktree: bool) -> None:
    """S6: An agent cannot prepare the settings that git reads once a person turns on settings of each worktree."""
    session = await boxed.session(**({"worktree": {"branch": "topic"}} if worktree else {}))
    folder = boxed.repo / ".git" / ("worktrees/topic" if worktree else "")
    name = folder / "config.worktree"
    planted = (
        f"echo [core] > {folder}/x; echo evil >> {name}; mv {folder}/x {name}; ln -sf /tmp/x {name}; rm {name}; true"
    )
    await boxed.run(session, disguised(planted))
    assert name.read_text() == "" and not name.is_symlink()


@needs_sandbox
async def test_a_planted_lock_changes_no_settings(boxed: Boxed) -> None:
    """S6, W1: A lock of git's configuration that an agent leaves stops what needs it, with a message that names it; and
    Bough never writes the settings into that file, which the agent could change."""
    other = make_repo(boxed.server.root / "other")
    git(other, "branch", "shared")
    git(boxed.repo, "remote", "add", "origin", str(other))
    git(boxed.repo, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/of/*")
    git(boxed.repo, "fetch", "--quiet", "origin")
    before = (boxed.repo / ".git" / "config").read_text()
    main = await boxed.session()
    lock = boxed.repo / ".git" / "config.lock"
    await boxed.run(main, disguised("ln -s /tmp/elsewhere .git/config.lock"))
    body = {"repoId": boxed.repo_id, "branch": "of/shared"}
    refused = await boxed.client.call("POST", "/api/worktrees", json=body, expect=409)
    assert refused["error"]["code"] == "config_locked" and str(lock) in refused["error"]["message"]
    assert (boxed.repo / ".git" / "config").read_text() == before
    lock.unlink()
    inode = (boxed.repo / ".git" / "config").stat().st_ino
    made = await boxed.client.post("/api/worktrees", body)
    assert git(Path(made["path"]), "rev-parse", "--abbrev-ref", "@{upstream}") == "origin/of/shared\n"
    assert git(Path(made["path"]), "config", "branch.of/shared.merge") == "refs/heads/shared\n"
    # Git would have replaced the file.
    assert (boxed.repo / ".git" / "config").stat().st_ino == inode
