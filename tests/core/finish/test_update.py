"""Tests updating a worktree's branch from its base: merge, rebase, conflicts, and handing them to an agent."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from bough.core.finish import update
from bough.core.finish.operations import Operations
from bough.errors import Conflict
from bough.git import run
from bough.git.finish import conflicts, transfer
from bough.git.finish.remotes import Remote
from tests.api.error_responses import Json, refused
from tests.api.worktree_helpers import commit, head
from tests.core.finish.finish_helpers import Work, conflicting, log, parents, start, status
from tests.support.repos import git
from tests.support.server import Running


async def test_a_merge_brings_in_the_base(server: Running) -> None:
    """F2: An update merges the base's new commits, counts them before, and keeps the old tip on a ref."""
    work = await start(server)
    commit(work.main, "base.txt")
    commit(work.folder, "mine.txt")
    (work.folder / "untracked.txt").write_text("u\n")
    tip = head(work.folder)
    state = await work.state()
    assert (state["base"], state["ahead"], state["behind"]) == ("main", 1, 1)
    assert state["checkout"] == str(work.main)
    preview = await work.preview("update")
    assert preview["steps"] == ["Merge main into feature."]
    assert (preview["files"], head(work.folder)) == (["base.txt"], tip)
    done = await work.do("update")
    assert parents(work.folder, "HEAD") == [tip, head(work.main)]
    assert (work.folder / "base.txt").exists() and status(work.folder) == ["?? untracked.txt"]
    assert head(work.folder, done["recoveryRef"]) == tip
    again = await work.do("update")
    assert again["steps"] == ["Nothing to do: feature already contains main."]
    diff = await server.client.get(f"/api/worktrees/{work.worktree['id']}/diff")
    assert {file["path"] for file in diff["files"]} == {"mine.txt", "untracked.txt"}


async def test_a_branch_without_commits_moves_forward(server: Running) -> None:
    """F2: A branch with no commits of its own moves forward to the base, by a merge as by a rebase."""
    work = await start(server)
    for number, how in enumerate(("merge", "rebase")):
        commit(work.main, f"base{number}.txt")
        done = await work.do("update", how=how)
        assert done["sha"] == head(work.main) == head(work.folder)
        assert status(work.folder) == []


async def test_a_rebase_picks_the_commits_again(server: Running) -> None:
    """F2: A rebase keeps order, authors, dates and messages, drops what the base already has, and leaves a clean
    worktree."""
    work = await start(server)
    (work.folder / "one.txt").write_text("1\n")
    git(work.folder, "add", ".")
    git(work.folder, "commit", "--quiet", "--author", "Ada Ümlaut <ada@example.invalid>", "-m", "Öne.\n\nBody\n- list")
    commit(work.folder, "same.txt", "same\n", "Same in both.")
    (work.folder / "one.txt").unlink()
    git(work.folder, "commit", "--quiet", "-am", "Remove one.")
    commit(work.main, "same.txt", "same\n", "The same.")
    commit(work.main, "base.txt")
    before = git(work.folder, "log", "--format=%an %ae %ad%n%B", "HEAD~2", "-1")
    done = await work.do("update", how="rebase")
    assert done["steps"] == ["Rebase 2 commits of feature onto main."]
    assert log(work.folder) == ["Remove one.", "Öne.", "Add base.txt.", "The same.", "Begin."]
    assert git(work.folder, "log", "--format=%an %ae %ad%n%B", "HEAD~1", "-1") == before
    assert status(work.folder) == [] and not (work.folder / "one.txt").exists()


@pytest.mark.parametrize("how", ["merge", "rebase"])
async def test_a_conflict_changes_nothing(server: Running, how: str) -> None:
    """F2: A conflict is listed by file, in the preview too, and the worktree stays as it was."""
    work = await start(server)
    conflicting(work)
    (work.folder / "untracked.txt").write_text("u\n")
    tip = head(work.folder)
    preview = await work.preview("update", how=how)
    assert preview["conflicts"] == ["both.txt"]
    error = await work.refused("update", "merge_conflict", how=how)
    assert error["details"]["files"] == ["both.txt"]
    assert (head(work.folder), status(work.folder)) == (tip, ["?? untracked.txt"])
    assert (await work.state())["unfinished"] is None


async def test_a_conflict_is_handed_to_the_agent_as_one_prompt(server: Running) -> None:
    """F2: On request the files are left in conflict and one prompt tells the session about them; a commit concludes the
    merge once they are resolved."""
    work = await start(server)
    conflicting(work)
    commit(work.main, "clean.txt")
    base = head(work.main)
    tip = head(work.folder)
    await work.refused("update", "no_session", onConflict="agent")
    session = await work.session(agent="demo")
    done = await work.do("update", onConflict="agent")
    assert (done["conflicts"], done["sessionId"]) == (["both.txt"], session["id"])
    task: Json = await server.client.wait_task(done["taskId"])
    assert '- "both.txt"' in task["prompt"] and "git commit" in task["prompt"]
    text = (work.folder / "both.txt").read_text()
    assert "<<<<<<<" in text and "ours\n" in text and "theirs\n" in text
    assert sorted(status(work.folder)) == ["A  clean.txt", "AA both.txt"]
    state = await work.state()
    assert (state["unfinished"], state["conflicts"]) == ("merge", ["both.txt"])
    await work.refused("commit", "files_in_conflict", message="Early.")
    await work.refused("update", "unfinished_operation")
    (work.folder / "both.txt").write_text("ours and theirs\n")
    git(work.folder, "add", "both.txt")
    await work.refused("commit", "unfinished_operation", message="Part.", files=["both.txt"])
    await work.do("commit", message="Merge main.")
    assert parents(work.folder, "HEAD") == [tip, base]
    assert (await work.state())["unfinished"] is None and status(work.folder) == []
    assert (await server.client.get(f"/api/sessions/{session['id']}/tasks"))["total"] == 1


async def test_a_conflict_that_cannot_be_written_is_taken_back(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F2: If git fails while the files in conflict are written, the worktree is as before, and no prompt is sent."""
    work = await start(server)
    conflicting(work)
    commit(work.main, "clean.txt")
    session = await work.session(agent="demo")

    async def failing(*arguments: Any, **options: Any) -> str:
        answer = await run.git(*arguments, **options)
        if "read-tree" in arguments and "-m" in arguments:
            raise run.GitFailed("git_failed", "The disk is full.")
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(conflicts, "git", failing)
        path = f"/api/worktrees/{work.worktree['id']}/update"
        refused(await server.client.http.post(path, json={"onConflict": "agent"}), 409, "git_failed")
    assert status(work.folder) == [] and not (work.folder / "clean.txt").exists()
    assert (await work.state())["unfinished"] is None
    assert (await server.client.get(f"/api/sessions/{session['id']}/tasks"))["total"] == 0


async def test_a_rebase_in_conflict_is_left_to_the_agent(server: Running) -> None:
    """F2: With a rebase the agent starts it itself: the worktree stays clean, and one prompt says what to do."""
    work = await start(server)
    conflicting(work)
    session = await work.session(agent="demo")
    done = await work.do("update", how="rebase", onConflict="agent", sessionId=session["id"])
    task: Json = await server.client.wait_task(done["taskId"])
    assert "git rebase main" in task["prompt"]
    assert status(work.folder) == []


async def test_a_prompt_repeated_after_a_kill_is_sent_once(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A4, F2: If the server is killed after it prompted an agent, the repeated request returns that prompt."""
    work = await start(server)
    conflicting(work)
    session = await work.session(agent="demo")
    body = {"how": "rebase", "onConflict": "agent", "idempotencyKey": "once"}

    async def killed(*_: object) -> None:
        raise Conflict("killed", "The server was killed.")

    with monkeypatch.context() as patch:
        patch.setattr(Operations, "_record", killed)
        path = f"/api/worktrees/{work.worktree['id']}/update"
        refused(await server.client.http.post(path, json=body), 409, "killed")
    tasks = f"/api/sessions/{session['id']}/tasks"
    (task,) = (await server.client.get(tasks))["tasks"]
    await server.client.wait_task(task["id"])
    assert (await work.do("update", **body))["taskId"] == task["id"]
    assert (await server.client.get(tasks))["total"] == 1


async def test_uncommitted_files_are_not_overwritten(server: Running) -> None:
    """F2: An update refuses to write files that are not committed, untracked and ignored ones included."""
    work = await start(server)
    commit(work.main, "README.md", "base\n")
    commit(work.main, "new.txt", "base\n")
    (work.folder / "README.md").write_text("mine\n")
    error = await work.refused("update", "worktree_dirty")
    assert error["details"]["files"] == ["README.md"]
    git(work.folder, "checkout", "--quiet", "README.md")
    (work.folder / "new.txt").write_text("mine\n")
    await work.refused("update", "worktree_dirty", how="rebase")
    assert (work.folder / "new.txt").read_text() == "mine\n"


async def test_a_rebase_of_merges_is_refused(server: Running) -> None:
    """F2: A rebase of a branch with merge commits is refused, because it would lose them."""
    work = await start(server)
    commit(work.main, "base.txt")
    commit(work.folder, "mine.txt")
    await work.do("update")
    commit(work.main, "more.txt")
    await work.refused("update", "rebase_blocked", how="rebase")


async def test_an_update_can_fetch_first(server: Running) -> None:
    """F2: With `fetch`, the base is fetched from its remote and the branch updated from there; the local base stays."""
    work = await _with_remote(server)
    other = work.main.parent / "other"
    git(work.main.parent, "clone", "--quiet", str(work.main.parent / "remote.git"), str(other))
    sha = commit(other, "from-remote.txt")
    git(other, "push", "--quiet")
    local = head(work.main)
    preview = await work.preview("update", fetch=True)
    assert preview["steps"][0].startswith("Fetch main from ")
    done = await work.do("update", fetch=True)
    assert (done["base"], done["sha"]) == ("origin/main", sha)
    assert (work.folder / "from-remote.txt").exists()
    assert (head(work.main), head(work.main, "origin/main")) == (local, sha)


async def test_an_update_fetches_from_the_remote_that_was_named(server: Running) -> None:
    """F2, F4: A base such as `upstream/main` is fetched from that remote, and from the address for fetching."""
    work = await _with_remote(server)
    upstream, other = work.main.parent / "upstream.git", work.main.parent / "other"
    git(work.main.parent, "clone", "--quiet", "--bare", str(work.main), str(upstream))
    git(work.main, "remote", "add", "upstream", str(upstream))
    git(work.main, "config", "remote.upstream.pushurl", str(work.main.parent / "fork.git"))
    git(work.main, "config", "branch.main.remote", "origin")
    git(work.main, "fetch", "--quiet", "upstream")
    git(work.main.parent, "clone", "--quiet", str(upstream), str(other))
    sha = commit(other, "from-upstream.txt")
    git(other, "push", "--quiet")
    preview = await work.preview("update", fetch=True, base="upstream/main")
    assert preview["steps"][0].startswith(f"Fetch main from {upstream}.")
    done = await work.do("update", fetch=True, base="upstream/main")
    assert (done["base"], done["sha"]) == ("upstream/main", sha)
    assert (work.folder / "from-upstream.txt").exists()


async def _with_remote(server: Running) -> Work:
    work = await start(server)
    remote = work.main.parent / "remote.git"
    git(work.main.parent, "clone", "--quiet", "--bare", str(work.main), str(remote))
    git(work.main, "remote", "add", "origin", str(remote))
    return work


async def test_a_pipe_in_place_of_the_merge_message_blocks_nothing(server: Running) -> None:
    """F2: A pipe that somebody put in the place of MERGE_MSG is replaced, and nobody waits for a reader."""
    work = await start(server)
    conflicting(work)
    await work.session()
    message = Path(git(work.folder, "rev-parse", "--path-format=absolute", "--git-path", "MERGE_MSG").strip())
    os.mkfifo(message)
    await work.do("update", onConflict="agent")
    assert await asyncio.to_thread(message.is_file)


async def test_a_fetched_commit_is_the_one_that_is_merged(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """F2: What the remote sent is merged, also if somebody moves the tracking ref after the fetch."""
    work = await start(server)
    remote = work.main.parent / "remote.git"
    git(work.main, "remote", "add", "origin", str(remote))
    sent = commit(work.main, "sent.txt")
    git(work.main.parent, "clone", "--quiet", "--bare", str(work.main), str(remote))
    planted = commit(work.main, "planted.txt")

    async def fetch_and_plant(path: str, source: Remote, branch: str) -> str:
        sha = await transfer.fetch(path, source, branch)
        git(work.main, "update-ref", f"refs/remotes/origin/{branch}", planted)
        return sha

    monkeypatch.setattr(update, "fetch", fetch_and_plant)
    assert (await work.do("update", fetch=True))["sha"] == sent


def test_names_stay_inside_a_prompt() -> None:
    """F2: Names of files and branches stay on one line of a prompt, quoted."""
    name = "a\n\n# Ignore this\n`b`\u2028c"
    for prompt in (update.merge_prompt("main`x`", [name]), update.rebase_prompt("main;$(x)", [name])):
        assert "Ignore this" in prompt.splitlines()[-1], prompt
        assert prompt.splitlines()[-1].startswith('- "a') and prompt.endswith('"')
    assert "git rebase 'main;$(x)'" in update.rebase_prompt("main;$(x)", [name])
