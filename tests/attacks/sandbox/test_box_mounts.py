"""Attacks that wait until Bough replaces or removes what is read-only in a running box: the kernel then takes the mount
away, and the agent could write what was protected."""

from __future__ import annotations

from pathlib import Path

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
