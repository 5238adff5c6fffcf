"""Tests the tools that finish the work in a worktree, and that a person decides about what leaves it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bough.core.tool_calls import service
from tests.api.mcp.mcp_client import Mcp
from tests.api.worktree_helpers import at, commit, head, made
from tests.support.mcp.tool_server import PATIENCE, ToolServer, tool_server
from tests.support.repos import git
from tests.support.server import Running


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[ToolServer]:
    monkeypatch.setattr(service, "PATIENCE", PATIENCE)
    async with tool_server(tmp_path) as tool_host:
        yield tool_host


async def test_work_is_finished_with_tools(server: Running, mcp: Mcp) -> None:
    """5a, F1, F2, F3, F4: The tools commit, update, merge and push for a person, and preview with dryRun."""
    repo = await server.client.repo(server.repo("finished"))
    top = at(repo["path"])
    remote = server.root / "remote.git"
    git(server.root, "clone", "--quiet", "--bare", str(top), str(remote))
    git(top, "remote", "add", "origin", str(remote))
    worktree = await made(server.client, repo)
    folder = at(worktree["path"])
    (folder / "one.txt").write_text("1\n")
    target = {"worktreeId": worktree["id"]}
    preview = await mcp.call("agor_worktrees_commit", **target, message="One.", dryRun=True)
    assert preview["steps"] == ["Commit 1 file to feature."] and head(folder) == head(top)
    done = await mcp.call("agor_worktrees_commit", **target, message="One.")
    assert done["sha"] == head(folder)
    commit(top, "base.txt")
    updated = await mcp.call("agor_worktrees_update_branch", **target, how="rebase")
    assert updated["sha"] == head(folder)
    await mcp.call("agor_worktrees_merge", **target, how="ff")
    assert head(top) == head(folder)
    await mcp.call("agor_worktrees_push", **target)
    assert git(remote, f"--git-dir={remote}", "rev-parse", "feature").strip() == head(folder)
    commit(folder, "two.txt")
    done = await mcp.call("agor_worktrees_pull_request", **target, title="Two", body="Two.")
    # A folder has no pull requests.
    assert (done["url"], done["byHand"]) == (None, None) and "by hand" in done["steps"][-1]
    assert git(remote, f"--git-dir={remote}", "rev-parse", "feature").strip() == head(folder)
    await mcp.refused("agor_worktrees_commit", "nothing_to_commit", **target, message="Again.")


async def test_a_person_decides_about_each_merge_and_push(place: ToolServer) -> None:
    """5e, F3, F4, F6: An agent's merge, push or pull request asks a person every time, in every mode and
    in spite of a rule."""
    repo = await place.client.get(f"/api/repos/{place.repo_id}")
    worktree = await made(place.client, repo, "asked")
    commit(at(worktree["path"]), "one.txt")
    before = head(at(repo["path"]))
    await place.rule("allow", "bough/*")
    for mode in ("auto", "bypassPermissions"):
        agent = await place.root(mode)
        for tool in ("agor_worktrees_merge", "agor_worktrees_push", "agor_worktrees_pull_request"):
            await place.asked_every_time(agent, tool, worktreeId=worktree["id"])
    assert head(at(repo["path"])) == before
