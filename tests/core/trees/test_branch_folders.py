"""Tests branches in worktrees of their own (B2): they start with exactly the files of that moment, are created once for
a key, and leave nothing behind if they fail."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bough.core.trees.branch import Branched, Branches
from bough.core.trees.requests import NewBranch
from bough.core.worktrees.service import Worktrees
from bough.errors import Conflict
from bough.model.session import Caller
from tests.core.trees.tree_helpers import Grove, grove
from tests.support.client import Json
from tests.support.repos import git

NEW: Json = {"worktree": "new"}


def top(trees: Grove) -> Path:
    return trees.server.root / "repo"


def commit(where: Path, name: str, text: str) -> None:
    (where / name).write_text(text)
    git(where, "add", "--", name)
    git(where, "commit", "--quiet", "--message", name)


def left(where: Path) -> str:
    """Returns all refs and worktrees of a repository."""
    return git(where, "for-each-ref", "--format=%(refname)") + git(where, "worktree", "list")


async def place(trees: Grove, session: str) -> Path:
    return Path((await trees.get(session))["cwd"])


async def worktrees(trees: Grove) -> list[Json]:
    return (await trees.client.get("/api/worktrees"))["worktrees"]


class Failing:
    """Makes the creation of branches fail at the last moment, a number of times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int = 1, first: Path | None = None) -> None:
        self.times = times
        plant = Branches.plant

        async def fails(*arguments: Any) -> Branched:
            if self.times:
                self.times -= 1
                if first is not None:
                    git(first, "worktree", "lock", arguments[6].cwd)
                raise Conflict("unlucky", "The first error.")
            return await plant(*arguments)

        monkeypatch.setattr(Branches, "plant", fails)


async def test_a_branch_that_holds_other_commits_is_refused(tmp_path: Path) -> None:
    """B2: Refuses a git branch whose commits would be overwritten; a branch on the same commit is accepted."""
    async with grove(tmp_path) as trees:
        repo = top(trees)
        git(repo, "branch", "same")
        git(repo, "checkout", "--quiet", "-b", "other")
        commit(repo, "theirs", "t")
        git(repo, "checkout", "--quiet", "main")
        (repo / "mine").write_text("uncommitted")
        root = await trees.root()
        before = left(repo)
        error = await trees.refused(f"{root}/fork", {"worktree": {"branch": "other"}})
        assert error["code"] == "branch_exists" and left(repo) == before and await worktrees(trees) == []
        fork, _ = await trees.fork(root, worktree={"branch": "same"})
        assert (await place(trees, fork) / "mine").read_text() == "uncommitted"


async def test_the_files_are_there_before_the_setup(tmp_path: Path) -> None:
    """B2, W1: The setup command sees the copied files and may change uncommitted ones."""
    async with grove(tmp_path) as trees:
        repo = top(trees)
        commit(repo, "lock.json", "committed")
        (repo / "lock.json").write_text("uncommitted")
        setup = ["sh", "-c", "cp lock.json seen && echo made > lock.json"]
        await trees.client.call("PATCH", f"/api/repos/{trees.repo_id}", json={"setup": setup})
        fork, _ = await trees.fork(await trees.root(), **NEW)
        cwd = await place(trees, fork)
        assert (cwd / "seen").read_text() == "uncommitted" and (cwd / "lock.json").read_text() == "made\n"


async def test_a_repeated_request_continues_after_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2, A4: Reuses what a server had created before it died, even if the session has continued since."""
    body = NEW | {"idempotencyKey": "once"}
    async with grove(tmp_path) as trees:
        root = await trees.root()
        (top(trees) / "then").write_text("then")
        with monkeypatch.context() as patched:
            Failing(patched)

            async def dead(*_: Any, **__: Any) -> None:
                """Does nothing, like a server that was killed."""

            patched.setattr(Worktrees, "withdraw", dead)
            await trees.refused(f"{root}/fork", body)
        [created] = await worktrees(trees)
        (Path(created["path"]) / "then").write_text("changed")
    async with grove(tmp_path) as trees:
        commit(top(trees), "later", "later")
        await trees.client.call("PATCH", f"/api/sessions/{root}", json={"title": "Another name"})
        other = body | {"worktree": {"branch": "other"}}
        assert (await trees.refused(f"{root}/fork", other))["code"] == "idempotency_key_reused"
        fork = await trees.client.post(f"/api/sessions/{root}/fork", body)
        assert (await trees.get(fork["sessionId"]))["worktreeId"] == created["id"]
        assert (Path(created["path"]) / "then").read_text() == "changed"
        assert await trees.client.post(f"/api/sessions/{root}/fork", body) == fork
        assert len(await worktrees(trees)) == 1
        # The key is scoped to the session, and so are the names derived from it.
        other = await trees.client.post(f"/api/sessions/{await trees.root()}/fork", body)
        assert other["sessionId"] != fork["sessionId"] and len(await worktrees(trees)) == 2


async def test_a_removed_worktree_is_recreated_for_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2, A4: Recreates a worktree that a crash left without a session and that somebody removed by hand."""
    body = NEW | {"idempotencyKey": "once"}
    async with grove(tmp_path) as trees:
        root = await trees.root()
        with monkeypatch.context() as patched:
            Failing(patched)

            async def dead(*_: Any, **__: Any) -> None: ...

            patched.setattr(Worktrees, "withdraw", dead)
            await trees.refused(f"{root}/fork", body)
        [created] = await worktrees(trees)
        await trees.client.call("DELETE", f"/api/worktrees/{created['id']}")
        fork = await trees.client.post(f"/api/sessions/{root}/fork", body)
        assert (await place(trees, fork["sessionId"])).is_dir()


@pytest.mark.parametrize("failures", [0, 1])
async def test_two_simultaneous_requests_with_one_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    """B2, A4: Both get the same fork; if the first fails, the second still succeeds."""
    async with grove(tmp_path) as trees:
        root = await trees.root()
        Failing(monkeypatch, failures)
        caller, fork = Caller(idempotency_key="once"), trees.server.services.branches.fork
        requests = [fork(caller, root, NewBranch(worktree="new")) for _ in range(2)]
        answers = await asyncio.gather(*requests, return_exceptions=True)
        created = [answer for answer in answers if isinstance(answer, Branched)]
        assert len(created) == 2 - failures and len({item.session_id for item in created}) == 1
        [worktree] = await worktrees(trees)
        session = await trees.get(created[0].session_id)
        assert session["worktreeId"] == worktree["id"] and (await place(trees, session["id"])).is_dir()


async def test_a_task_is_named_by_a_part_of_its_id(tmp_path: Path) -> None:
    """B2, R5: The start or the end of a task's id is enough, and counts as the same request."""
    async with grove(tmp_path) as trees:
        root = await trees.root(permissionMode="bypassPermissions")
        task = await trees.client.prompt(root, "[[write a.txt one]]")
        await trees.client.wait_task(task)
        (top(trees) / "a.txt").write_text("two")
        body = NEW | {"idempotencyKey": "once"}
        fork = await trees.client.post(f"/api/sessions/{root}/fork", body | {"taskId": task[-10:]})
        assert (await place(trees, fork["sessionId"]) / "a.txt").read_text().strip() == "one"
        assert (await trees.get(fork["sessionId"]))["branchTaskId"] == task
        assert await trees.client.post(f"/api/sessions/{root}/fork", body | {"taskId": task}) == fork


async def test_ignored_files_on_request(tmp_path: Path) -> None:
    """B2: Copies ignored files on request, within the same limits, but no other worktrees."""
    async with grove(tmp_path, checkpoint_files=5) as trees:
        repo = top(trees)
        commit(repo, ".gitignore", "out/\n.env\n")
        (repo / ".env").write_text("X=1")
        (repo / "out").mkdir()
        (repo / "out" / "a").write_text("built")
        root = await trees.root()
        plain, _ = await trees.fork(root, **NEW)
        assert not (await place(trees, plain) / ".env").exists()
        fork, _ = await trees.fork(root, worktree={"ignored": True})
        cwd = await place(trees, fork)
        assert (cwd / ".env").read_text() == "X=1" and (cwd / "out" / "a").read_text() == "built"
        assert git(cwd, "status", "--porcelain") == "" and not (cwd / ".worktrees").exists()
        for number in range(6):
            (repo / "out" / str(number)).write_text("more")
        error = await trees.refused(f"{root}/fork", {"worktree": {"ignored": True}})
        assert error["code"] == "no_checkpoint" and "`ignored`" in error["message"]
        at = {"worktree": {"ignored": True}, "taskId": fork}
        assert (await trees.refused(f"{root}/fork", at, 400))["code"] == "bad_branch"


async def test_too_many_uncommitted_files_are_refused(tmp_path: Path) -> None:
    """B2: Refuses to copy more than the limit, with a sentence, before anything is created."""
    async with grove(tmp_path, checkpoint_files=1) as trees:
        for number in range(3):
            (top(trees) / f"u{number}").write_text("x")
        error = await trees.refused(f"{await trees.root()}/fork", NEW)
        assert error["code"] == "no_checkpoint" and await worktrees(trees) == []


async def test_a_failed_branch_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2, W2: A branch that fails leaves no worktree, git branch or recovery ref, and its key can be used again."""
    async with grove(tmp_path) as trees:
        repo = top(trees)
        (repo / "mine").write_text("uncommitted")
        root = await trees.root()
        before = left(repo)
        Failing(monkeypatch)
        body = NEW | {"idempotencyKey": "once"}
        assert (await trees.refused(f"{root}/fork", body))["code"] == "unlucky"
        assert left(repo) == before and not (repo / ".worktrees").exists() and await worktrees(trees) == []
        removed = (await trees.client.get("/api/worktrees?removed=true"))["worktrees"]
        assert [item["recoveryRef"] for item in removed] == [None]
        fork = await trees.client.post(f"/api/sessions/{root}/fork", body)
        assert (await place(trees, fork["sessionId"]) / "mine").exists()


async def test_a_failed_cleanup_does_not_hide_the_first_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2: Reports the first error even if the cleanup fails too."""
    async with grove(tmp_path) as trees:
        root = await trees.root()
        Failing(monkeypatch, first=top(trees))
        assert (await trees.refused(f"{root}/fork", NEW))["code"] == "unlucky"
        [locked] = await worktrees(trees)
        assert locked["status"] == "ready"


async def test_a_branch_is_completed_without_its_caller(tmp_path: Path) -> None:
    """B2: A worktree that was begun gets its session even if the caller disconnects."""
    async with grove(tmp_path) as trees:
        root = await trees.root()
        on = tmp_path / "on"
        setup = ["sh", "-c", f"while [ ! -e '{on}' ]; do sleep 0.02; done"]
        await trees.client.call("PATCH", f"/api/repos/{trees.repo_id}", json={"setup": setup})
        async with trees.client.events() as events:
            asking = asyncio.create_task(trees.server.services.branches.fork(Caller(), root, NewBranch(worktree="new")))
            await events.until(lambda event: event["type"] == "worktree.created")
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()

        async def forked() -> list[Json]:
            on.touch()
            return (await trees.client.get(f"/api/sessions/{root}/tree"))["sessions"][1:]

        [fork] = await trees.client.eventually(forked)
        [created] = await worktrees(trees)
        assert (await trees.get(fork["id"]))["worktreeId"] == created["id"]
