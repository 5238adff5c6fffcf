"""Tests the tools that finish the work in a worktree, and that a person decides about what leaves it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bough.core.tool_calls import service
from tests.api.mcp.mcp_client import Mcp
from tests.api.worktree_helpers import at, commit, head, made
from tests.support.eventually import eventually
from tests.support.mcp.tool_caller import Agent
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


async def test_an_approval_is_about_one_commit_branch_and_target(place: ToolServer) -> None:
    """5e, F3, F4: What a person allowed is refused if the worktree's commit, branch or base has changed since."""
    repo = await place.client.get(f"/api/repos/{place.repo_id}")
    top = at(repo["path"])
    git(top, "branch", "develop")
    worktree = await made(place.client, repo, "asked", base="develop")
    folder = at(worktree["path"])
    first, before = commit(folder, "one.txt"), head(top)
    agent = await place.root()
    target = {"worktreeId": worktree["id"]}
    merge = await place.asked_every_time(agent, "agor_worktrees_merge", **target)
    assert f"asked ({first[:12]})" in merge["toolCall"]["title"] and "into develop" in merge["toolCall"]["title"]
    push = await place.asked_every_time(agent, "agor_worktrees_push", **target)
    commit(folder, "planted.txt")
    await refused_afterward(place, agent, merge["id"], "head_changed")
    git(folder, "checkout", "--quiet", "-b", "other", first)
    await refused_afterward(place, agent, push["id"], "head_changed")
    git(folder, "checkout", "--quiet", "asked")
    merge = await place.asked_every_time(agent, "agor_worktrees_merge", **target, how="ff")
    git(top, "branch", "-D", "develop")
    await refused_afterward(place, agent, merge["id"], "no_base")
    assert head(top) == before
    text = await place.refused(agent, "agor_worktrees_merge", **target, how="squash")
    assert "Name the base branch" in text


async def refused_afterward(place: ToolServer, agent: Agent, approval: str, code: str) -> None:
    """Allows a call, and asserts that it fails with this code."""
    await place.decide(approval)

    async def failed() -> bool:
        calls = (await place.client.get(f"/api/sessions/{agent.id}/calls"))["calls"]
        call = next(call for call in calls if call["approvalId"] == approval)
        return call["state"] == "failed" and call["outcome"]["code"] == code

    await eventually(failed)


async def test_a_worktree_of_others_is_asked_about(place: ToolServer) -> None:
    """5d, F1: An agent's commit in a worktree where its tree does not work asks, and "always" holds for that one."""
    repo = await place.client.get(f"/api/repos/{place.repo_id}")
    first, second = await made(place.client, repo, "first"), await made(place.client, repo, "second")
    for worktree in (first, second):
        (at(worktree["path"]) / "one.txt").write_text("1\n")
    agent = await place.root("bypassPermissions", worktreeId=first["id"])
    done = await agent.does("agor_worktrees_commit", worktreeId=first["id"], message="One.")
    assert done["sha"] == head(at(first["path"]))
    approval = await place.asked(agent, "agor_worktrees_commit", worktreeId=second["id"], message="One.")
    assert "beyond the tree" in approval["reason"]


async def test_an_agents_commit_runs_no_hooks(place: ToolServer) -> None:
    """F1, W3: Hooks that a person allowed do not run for an agent's commit, and the answer says so."""
    repo = await place.client.get(f"/api/repos/{place.repo_id}")
    worktree = await made(place.client, repo, "hooked")
    folder, ran = at(worktree["path"]), place.server.root / "ran"
    hook = at(repo["path"]) / ".git" / "hooks" / "pre-commit"
    hook.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
    hook.chmod(0o755)
    await place.client.allow_git(place.repo_id, hooks=True)
    agent = await place.root("bypassPermissions", worktreeId=worktree["id"])
    (folder / "one.txt").write_text("1\n")
    done = await agent.does("agor_worktrees_commit", worktreeId=worktree["id"], message="One.")
    assert done["sha"] == head(folder) and not ran.exists()
    assert any("do not run for an agent" in step for step in done["steps"])


async def test_a_preview_asks_nobody(place: ToolServer) -> None:
    """5e, F3, F4: An agent previews a merge or push without a person's decision where its other changes need none, and
    the question says that it is a preview where they do."""
    repo = await place.client.get(f"/api/repos/{place.repo_id}")
    top = at(repo["path"])
    git(top, "remote", "add", "origin", str(top.parent / "previewed.git"))
    git(top.parent, "init", "--quiet", "--bare", "previewed.git")
    worktree = await made(place.client, repo, "previewed")
    commit(at(worktree["path"]), "one.txt")
    before = head(top)
    target = {"worktreeId": worktree["id"], "dryRun": True}
    agent = await place.root("bypassPermissions", worktreeId=worktree["id"])
    for tool, step in (("agor_worktrees_merge", "Merge 1 commit"), ("agor_worktrees_push", "Push previewed")):
        preview = await agent.does(tool, **target)
        assert preview["refusal"] is None and preview["steps"][0].startswith(step), preview
    assert head(top) == before
    careful = await place.root("default")
    approval = await place.asked(careful, "agor_worktrees_merge", **target)
    assert approval["title"].startswith("Preview merging")
    approval = await place.asked(careful, "agor_worktrees_push", **target)
    assert approval["title"].startswith("Preview pushing")
