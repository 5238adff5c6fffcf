"""Tests pushing a worktree's branch to a bare remote."""

from __future__ import annotations

from pathlib import Path

from tests.api.worktree_helpers import commit, head
from tests.core.finish.finish_helpers import Work, start
from tests.support.repos import git
from tests.support.server import Running


async def pushable(server: Running) -> tuple[Work, Path]:
    """Returns work in a repository with a bare remote."""
    work = await start(server)
    remote = work.main.parent / "remote.git"
    git(work.main.parent, "clone", "--quiet", "--bare", str(work.main), str(remote))
    git(work.main, "remote", "add", "origin", str(remote))
    return work, remote


def tip(remote: Path, branch: str = "feature") -> str:
    return git(remote, f"--git-dir={remote}", "rev-parse", f"refs/heads/{branch}").strip()


async def test_a_branch_is_pushed(server: Running) -> None:
    """F4: A push sends the branch's commits after a preview that contacts nobody, and counts what is new."""
    work, remote = await pushable(server)
    first = commit(work.folder, "one.txt")
    (work.folder / "two.txt").write_text("2\n")
    preview = await work.preview("push")
    assert preview["steps"] == [f"Push feature as a new branch to {remote}.", "1 uncommitted file stays here."]
    done = await work.do("push")
    assert (done["sha"], tip(remote)) == (first, first)
    state = await work.state()
    assert (state["remote"]["name"], state["remote"]["ahead"], state["remote"]["behind"]) == ("origin", 0, 0)
    assert git(work.folder, "rev-parse", "--abbrev-ref", "feature@{upstream}").strip() == "origin/feature"
    second = commit(work.folder, "three.txt")
    assert (await work.state())["remote"]["ahead"] == 1
    assert (await work.preview("push"))["steps"][0] == f"Push 1 new commit of feature to {remote}."
    await work.do("push")
    assert tip(remote) == second


async def test_a_rewritten_branch_needs_consent(server: Running) -> None:
    """F4: Commits on the remote are replaced only on request, and never those that somebody else pushed meanwhile."""
    work, remote = await pushable(server)
    commit(work.folder, "one.txt")
    await work.do("push")
    git(work.folder, "commit", "--quiet", "--amend", "-m", "Other words.")
    path = f"/api/worktrees/{work.worktree['id']}/push"
    answer = await server.client.http.post(path, json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "push_rejected")
    await work.do("push", rewrite=True)
    assert tip(remote) == head(work.folder)
    other = work.main.parent / "other"
    git(work.main.parent, "clone", "--quiet", "--branch", "feature", str(remote), str(other))
    theirs = commit(other, "theirs.txt")
    git(other, "push", "--quiet")
    git(work.folder, "commit", "--quiet", "--amend", "-m", "Again.")
    answer = await server.client.http.post(path, json={"rewrite": True})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "push_rejected")
    assert tip(remote) == theirs


async def test_an_agent_does_not_decide_what_a_push_replaces(server: Running) -> None:
    """F4: A rewriting push replaces what Bough itself pushed or fetched, whatever an agent writes into refs/remotes."""
    work, remote = await pushable(server)
    commit(work.folder, "one.txt")
    await work.do("push")
    other = work.main.parent / "other"
    git(work.main.parent, "clone", "--quiet", "--branch", "feature", str(remote), str(other))
    theirs = commit(other, "theirs.txt")
    git(other, "push", "--quiet")
    git(work.folder, "commit", "--quiet", "--amend", "-m", "Other words.")
    git(work.folder, "fetch", "--quiet", str(remote), "+refs/heads/feature:refs/remotes/origin/feature")
    path = f"/api/worktrees/{work.worktree['id']}/push"
    answer = await server.client.http.post(path, json={"rewrite": True})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "push_rejected")
    assert tip(remote) == theirs
    await work.do("push", replaces=theirs)
    assert tip(remote) == head(work.folder)


async def test_commits_that_bough_never_saw_are_replaced_by_their_name_only(server: Running) -> None:
    """F4: A branch that was pushed by hand is replaced once a person names its last commit; the refusal tells it."""
    work, remote = await pushable(server)
    theirs = commit(work.folder, "one.txt")
    git(work.folder, "push", "--quiet", "origin", "feature")
    git(work.folder, "commit", "--quiet", "--amend", "-m", "Other words.")
    error = await work.refused("push", "push_rejected", rewrite=True)
    assert error["details"]["sha"] == theirs and tip(remote) == theirs
    answer = await server.client.http.post(f"/api/worktrees/{work.worktree['id']}/push", json={"replaces": "HEAD"})
    assert answer.status_code == 400
    await work.refused("push", "push_rejected", remote="origin", rewrite=True)
    await work.do("push", rewrite=True, replaces=theirs)
    assert tip(remote) == head(work.folder)


async def test_a_rewrite_of_older_commits_needs_no_name(server: Running) -> None:
    """F4: A rewriting push loses nothing if the remote's commits are part of the branch, or it has no such branch."""
    work, remote = await pushable(server)
    commit(work.folder, "one.txt")
    await work.do("push", rewrite=True, dryRun=True)
    git(work.folder, "push", "--quiet", "origin", "feature")
    commit(work.folder, "two.txt")
    await work.do("push", rewrite=True)
    assert tip(remote) == head(work.folder)


async def test_a_push_without_a_remote_is_refused(server: Running) -> None:
    """F4: Without a remote, or with one that has another name, a push says what is missing."""
    work = await start(server)
    commit(work.folder, "one.txt")
    await work.refused("push", "no_remote")
    assert (await work.state())["remote"]["name"] is None
    await work.refused("push", "no_remote", remote="upstream")


async def test_a_remote_that_fails_says_why(server: Running) -> None:
    """F4: A push to a folder that is gone fails with git's words and without a password."""
    work = await start(server)
    commit(work.folder, "one.txt")
    git(work.main, "remote", "add", "origin", str(work.main.parent / "gone.git"))
    path = f"/api/worktrees/{work.worktree['id']}/push"
    answer = await server.client.http.post(path, json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "git_failed")
    assert "gone.git" in answer.json()["error"]["message"]


async def test_a_remote_that_an_agent_can_write_is_refused(server: Running) -> None:
    """F4: Nothing is pushed to or fetched from a folder in a worktree or repository, also if a link leads there."""
    work = await start(server)
    commit(work.folder, "one.txt")
    planted = work.folder / "planted.git"
    git(work.folder, "clone", "--quiet", "--bare", str(work.main), str(planted))
    link = work.main.parent / "link.git"
    link.symlink_to(planted)
    git(work.main, "remote", "add", "origin", str(planted))
    for address in (str(planted), "planted.git", f"file://{planted}", str(link), str(work.main)):
        git(work.main, "config", "remote.origin.url", address)
        await work.refused("push", "remote_blocked")
        await work.refused("update", "remote_blocked", fetch=True)
        assert "agents work in" in (await work.state())["remote"]["blocked"]


async def test_a_push_that_cannot_be_noted_is_still_a_push(server: Running) -> None:
    """F4: Once the remote has the commits, locks in the repository are told as steps, and the push is in the audit
    trail."""
    work, remote = await pushable(server)
    sha = commit(work.folder, "one.txt")
    (work.main / ".git" / "config.lock").touch()
    tracking = work.main / ".git" / "refs" / "remotes" / "origin"
    tracking.mkdir(parents=True)
    (tracking / "feature.lock").touch()
    done = await work.do("push")
    assert (done["sha"], tip(remote)) == (sha, sha)
    assert "could not be noted" in done["steps"][-2] and "feature.lock" in done["steps"][-2]
    assert "does not follow origin/feature yet" in done["steps"][-1] and "config.lock" in done["steps"][-1]
    entries = (await server.client.get("/api/audit", params={"action": "worktree.pushed"}))["entries"]
    assert [entry["details"]["sha"] for entry in entries] == [sha]
