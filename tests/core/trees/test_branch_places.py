"""B2: a branch in a worktree of its own begins with exactly the files of its moment, is made once for a key whatever
happened before, and leaves nothing behind when it comes to nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bough.core.trees.branch import Branch, Branched, Branches
from bough.core.worktrees.service import Worktrees
from bough.errors import Conflict
from bough.model.session import Caller
from tests.support.client import Json
from tests.support.repos import git

from .kit import Grove, grove

NEW: Json = {"worktree": "new"}


def top(trees: Grove) -> Path:
    return trees.server.root / "repo"


def commit(where: Path, name: str, text: str) -> None:
    (where / name).write_text(text)
    git(where, "add", "--", name)
    git(where, "commit", "--quiet", "--message", name)


def left(where: Path) -> str:
    """All refs and worktrees that git has."""
    return git(where, "for-each-ref", "--format=%(refname)") + git(where, "worktree", "list")


async def place(trees: Grove, session: str) -> Path:
    return Path((await trees.get(session))["cwd"])


async def worktrees(trees: Grove) -> list[Json]:
    return (await trees.client.get("/api/worktrees"))["worktrees"]


class Failing:
    """Branches that fail at the last moment, so many times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int = 1, first: Path | None = None) -> None:
        self.times = times
        plant = Branches.plant

        async def fails(*given: Any) -> Branched:
            if self.times:
                self.times -= 1
                if first is not None:
                    git(first, "worktree", "lock", given[6].cwd)
                raise Conflict("unlucky", "The first error.")
            return await plant(*given)

        monkeypatch.setattr(Branches, "plant", fails)


async def test_a_branch_that_holds_other_commits_is_refused(tmp_path: Path) -> None:
    """B2: files written over another branch would undo what it holds; one that stands on the same commit is fine."""
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
    """B2, W1: the setup sees the files of the moment, and may change what is not committed."""
    async with grove(tmp_path) as trees:
        repo = top(trees)
        commit(repo, "lock.json", "committed")
        (repo / "lock.json").write_text("uncommitted")
        setup = ["sh", "-c", "cp lock.json seen && echo made > lock.json"]
        await trees.client.call("PATCH", f"/api/repos/{trees.repo_id}", json={"setup": setup})
        fork, _ = await trees.fork(await trees.root(), **NEW)
        cwd = await place(trees, fork)
        assert (cwd / "seen").read_text() == "uncommitted" and (cwd / "lock.json").read_text() == "made\n"


async def test_a_key_goes_on_after_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2, A4: what a server made before it died is taken up as it is, though the session has moved on since."""
    body = NEW | {"idempotencyKey": "once"}
    async with grove(tmp_path) as trees:
        root = await trees.root()
        (top(trees) / "then").write_text("then")
        with monkeypatch.context() as patched:
            Failing(patched)

            async def dead(*_: Any, **__: Any) -> None:
                """A server that was killed takes nothing away."""

            patched.setattr(Worktrees, "withdraw", dead)
            await trees.refused(f"{root}/fork", body)
        [made] = await worktrees(trees)
        (Path(made["path"]) / "then").write_text("changed")
    async with grove(tmp_path) as trees:
        commit(top(trees), "later", "later")
        await trees.client.call("PATCH", f"/api/sessions/{root}", json={"title": "Another name"})
        other = body | {"worktree": {"branch": "other"}}
        assert (await trees.refused(f"{root}/fork", other))["code"] == "idempotency_key_reused"
        fork = await trees.client.post(f"/api/sessions/{root}/fork", body)
        assert (await trees.get(fork["sessionId"]))["worktreeId"] == made["id"]
        assert (Path(made["path"]) / "then").read_text() == "changed"
        assert await trees.client.post(f"/api/sessions/{root}/fork", body) == fork
        assert len(await worktrees(trees)) == 1
        # The key is the session's own, and so are the names that come of it.
        other = await trees.client.post(f"/api/sessions/{await trees.root()}/fork", body)
        assert other["sessionId"] != fork["sessionId"] and len(await worktrees(trees)) == 2


async def test_a_key_whose_worktree_was_removed_makes_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2, A4: a worktree without its session, left by a crash and removed by hand, is made anew."""
    body = NEW | {"idempotencyKey": "once"}
    async with grove(tmp_path) as trees:
        root = await trees.root()
        with monkeypatch.context() as patched:
            Failing(patched)

            async def dead(*_: Any, **__: Any) -> None: ...

            patched.setattr(Worktrees, "withdraw", dead)
            await trees.refused(f"{root}/fork", body)
        [made] = await worktrees(trees)
        await trees.client.call("DELETE", f"/api/worktrees/{made['id']}")
        fork = await trees.client.post(f"/api/sessions/{root}/fork", body)
        assert (await place(trees, fork["sessionId"])).is_dir()


@pytest.mark.parametrize("failures", [0, 1])
async def test_two_at_once_with_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int) -> None:
    """B2, A4: they are one fork; if the first fails, it takes nothing away from the second."""
    async with grove(tmp_path) as trees:
        root = await trees.root()
        Failing(monkeypatch, failures)
        caller, fork = Caller(idempotency_key="once"), trees.server.services.branches.fork
        asked = [fork(caller, root, Branch(worktree="new")) for _ in range(2)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        made = [answer for answer in answers if isinstance(answer, Branched)]
        assert len(made) == 2 - failures and len({item.session_id for item in made}) == 1
        [found] = await worktrees(trees)
        session = await trees.get(made[0].session_id)
        assert session["worktreeId"] == found["id"] and (await place(trees, session["id"])).is_dir()


async def test_a_task_by_a_part_of_its_id(tmp_path: Path) -> None:
    """B2, R5: its beginning or its end will do, and is the same request."""
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
    """B2: they come along if they are asked for, and other worktrees do not; they are bounded like all others."""
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


async def test_too_much_that_is_not_committed_is_refused(tmp_path: Path) -> None:
    """B2: with a sentence, before anything is made."""
    async with grove(tmp_path, checkpoint_files=1) as trees:
        for number in range(3):
            (top(trees) / f"u{number}").write_text("x")
        error = await trees.refused(f"{await trees.root()}/fork", NEW)
        assert error["code"] == "no_checkpoint" and await worktrees(trees) == []


async def test_what_comes_to_nothing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2, W2: no worktree, branch or ref to recover it by; the same key may be used again."""
    async with grove(tmp_path) as trees:
        repo = top(trees)
        (repo / "mine").write_text("uncommitted")
        root = await trees.root()
        before = left(repo)
        Failing(monkeypatch)
        body = NEW | {"idempotencyKey": "once"}
        assert (await trees.refused(f"{root}/fork", body))["code"] == "unlucky"
        assert left(repo) == before and not (repo / ".worktrees").exists() and await worktrees(trees) == []
        gone = (await trees.client.get("/api/worktrees?removed=true"))["worktrees"]
        assert [item["recoveryRef"] for item in gone] == [None]
        fork = await trees.client.post(f"/api/sessions/{root}/fork", body)
        assert (await place(trees, fork["sessionId"]) / "mine").exists()


async def test_a_cleaning_up_that_fails_hides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2: what went wrong first is what is told."""
    async with grove(tmp_path) as trees:
        root = await trees.root()
        Failing(monkeypatch, first=top(trees))
        assert (await trees.refused(f"{root}/fork", NEW))["code"] == "unlucky"
        [locked] = await worktrees(trees)
        assert locked["status"] == "ready"


async def test_a_caller_who_goes_away_leaves_no_half(tmp_path: Path) -> None:
    """B2: a worktree that was begun gets its session, whoever waits for it."""
    async with grove(tmp_path) as trees:
        root = await trees.root()
        on = tmp_path / "on"
        setup = ["sh", "-c", f"while [ ! -e '{on}' ]; do sleep 0.02; done"]
        await trees.client.call("PATCH", f"/api/repos/{trees.repo_id}", json={"setup": setup})
        async with trees.client.events() as events:
            asking = asyncio.create_task(trees.server.services.branches.fork(Caller(), root, Branch(worktree="new")))
            await events.until(lambda one: one["type"] == "worktree.created")
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()

        async def forked() -> list[Json]:
            on.touch()
            return (await trees.client.get(f"/api/sessions/{root}/tree"))["sessions"][1:]

        [fork] = await trees.client.eventually(forked)
        [made] = await worktrees(trees)
        assert (await trees.get(fork["id"]))["worktreeId"] == made["id"]
