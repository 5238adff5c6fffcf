"""Tests cleaning up: a worktree's sessions end, it is removed and its merged branch deleted, also after a kill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.error_responses import refused
from tests.api.worktree_helpers import at, branches, commit, head, known_to_git
from tests.core.finish.finish_helpers import Work, start
from tests.core.trees.test_cut_off import died
from tests.support.eventually import eventually
from tests.support.repos import git, make_repo
from tests.support.server import Running, ServerProcess


async def merged(server: Running, how: str = "merge") -> Work:
    """Returns work whose only commit is merged."""
    work = await start(server)
    commit(work.folder, "one.txt")
    await work.do("merge", how=how)
    return work


@pytest.mark.parametrize("how", ["merge", "squash"])
async def test_merged_work_is_cleaned_up(server: Running, how: str) -> None:
    """F7: After a preview that changes nothing, the sessions are ended and archived, the folder is removed, and the
    merged branch deleted; also after a squash, whose commits no branch has. All of it can be recovered."""
    work = await merged(server, how)
    session = await work.session(title="Add a file")
    await server.client.ask(session["id"], "hello")
    tip = head(work.folder)
    assert (await work.state())["mergedInto"] == "main"
    preview = await work.preview("cleanup")
    assert preview["refusal"] is None and preview["steps"] == [
        "End 1 active session: Add a file.",
        "Archive 1 session: Add a file.",
        f"Remove worktree feature at {work.folder}. Its commits and files can be recovered; files that git ignores are "
        "deleted.",
        "Delete branch feature: main contains its work.",
    ]
    assert work.folder.is_dir() and (await server.client.get(f"/api/sessions/{session['id']}"))["status"] == "active"
    done = await work.do("cleanup", expectedHead=tip)
    assert done["steps"] == preview["steps"] and done["recoveryRef"]
    assert not work.folder.exists() and branches(work.main) == ["main"] and known_to_git(work.main) == []
    ended = await server.client.get(f"/api/sessions/{session['id']}")
    assert (ended["status"], ended["archived"]) == ("completed", True)
    [entry] = (await server.client.get("/api/audit?action=worktree.cleaned_up"))["entries"]
    assert entry["details"]["branch"] == "feature"
    await work.do("recover")
    assert head(work.folder) == tip and branches(work.main) == ["feature", "main"]


async def test_work_that_would_be_missed_is_refused(server: Running) -> None:
    """F7: Without force, unmerged commits, uncommitted files, another commit than expected and queued prompts are
    refused, and nothing ends. With force the files are kept on a recovery ref, and an unmerged branch stays."""
    work = await start(server)
    tip = commit(work.folder, "one.txt")
    await work.refused("cleanup", "not_merged")
    (work.folder / "draft.txt").write_text("draft\n")
    await work.refused("cleanup", "worktree_dirty")
    await work.refused("cleanup", "head_changed", expectedHead="0" * 40, force=True)
    session = await work.session()
    task = await server.client.prompt(session["id"], "[[sleep 600]]")
    await server.client.wait_task(task, "running")
    await work.refused("cleanup", "folder_busy")
    assert (await server.client.get(f"/api/sessions/{session['id']}"))["status"] == "active"
    preview = await work.preview("cleanup", force=True)
    assert preview["steps"][-1] == "Keep branch feature: it is not merged."
    await work.do("cleanup", force=True)
    assert not work.folder.exists() and head(work.main, "feature") == tip
    await work.do("recover")
    assert (work.folder / "draft.txt").read_text() == "draft\n"


async def test_queued_prompts_are_refused(server: Running) -> None:
    """F7: A session that has prompts to do, but no turn that runs, is not ended without force."""
    work = await merged(server)
    session = await work.session()
    task = await server.client.prompt(session["id"], "[[sleep 600]]")
    await server.client.wait_task(task, "running")
    await server.client.prompt(session["id"], "later")
    await server.client.post(f"/api/sessions/{session['id']}/stop")
    await work.refused("cleanup", "session_busy")
    await work.do("cleanup", force=True)
    assert branches(work.main) == ["main"]


async def test_branches_and_folders_of_others_stay(server: Running) -> None:
    """F7: A branch that Bough did not create stays, also one that a person wants to keep; an adopted worktree is only
    taken off the list, even with force."""
    work = await merged(server)
    assert (await work.preview("cleanup", keepBranch=True))["steps"][-1] == "Keep branch feature."
    await work.do("cleanup", keepBranch=True)
    assert branches(work.main) == ["feature", "main"]
    other = await server.client.post("/api/worktrees", {"repoId": work.repo["id"], "branch": "feature"})
    again = Work(server, work.repo, other)
    assert (await again.do("cleanup"))["steps"][-1] == "Keep branch feature: Bough did not create it."
    assert branches(work.main) == ["feature", "main"]
    apart = work.main.parent / "apart"
    git(work.main, "worktree", "add", "--quiet", "-b", "apart", str(apart))
    adopted = await server.client.post("/api/worktrees", {"repoId": work.repo["id"], "path": str(apart)})
    await Work(server, work.repo, adopted).do("cleanup", force=True)
    assert apart.is_dir() and "apart" in branches(work.main)


async def test_a_repeated_request_gets_its_answer(server: Running) -> None:
    """A4, F7: A request that is repeated with its key returns the first answer, though the worktree is gone."""
    work = await merged(server)
    first = await work.do("cleanup", idempotencyKey="once")
    assert await work.do("cleanup", idempotencyKey="once") == first


@pytest.mark.parametrize("where", ["after:decide_cleanup", "inside:forget_cleanup"])
async def test_a_killed_cleanup_is_completed(tmp_path: Path, where: str) -> None:
    """A4, F7: Killed after the decision or before its record, the next start completes the cleanup once."""
    server = ServerProcess(tmp_path / "data", tmp_path / "work", module="tests.support.faults.crashing_server")
    server.env = {"CRASH": where}
    async with server:
        repo = make_repo(server.root / "repo")
        async with server.client() as client:
            known = await client.repo(repo)
            row = await client.post("/api/worktrees", {"repoId": known["id"], "branch": "feature"})
            session = await client.session(known["id"], worktreeId=row["id"])
            commit(Path(row["path"]), "one.txt")
            await client.post(f"/api/worktrees/{row['id']}/merge", {})
            with pytest.raises(httpx.TransportError):
                await client.post(f"/api/worktrees/{row['id']}/cleanup", {"idempotencyKey": "once"})
        await died(server)
        server.env = {}
        await server.start()
        async with server.client() as client:
            body = {"idempotencyKey": "once"}

            async def audited() -> bool:
                return bool((await client.get("/api/audit?action=worktree.cleaned_up"))["entries"])

            await eventually(audited)
            assert not at(row["path"]).exists() and branches(repo) == ["main"] and known_to_git(repo) == []
            assert (await client.get(f"/api/sessions/{session['id']}"))["archived"]
            assert (await client.post(f"/api/worktrees/{row['id']}/cleanup", body))["action"] == "cleanup"
            assert len((await client.get("/api/audit?action=worktree.cleaned_up"))["entries"]) == 1


async def test_a_cleanup_that_cannot_be_completed_is_reported(tmp_path: Path) -> None:
    """F7: If the next start cannot complete a cleanup, the worktree's state says why, until it is cleaned up."""
    server = ServerProcess(tmp_path / "data", tmp_path / "work", module="tests.support.faults.crashing_server")
    server.env = {"CRASH": "after:decide_cleanup"}
    async with server:
        repo = make_repo(server.root / "repo")
        async with server.client() as client:
            row = await client.post("/api/worktrees", {"repoId": (await client.repo(repo))["id"], "branch": "feature"})
            path = f"/api/worktrees/{row['id']}"
            with pytest.raises(httpx.TransportError):
                await client.post(f"{path}/cleanup", {})
        await died(server)
        git(repo, "worktree", "lock", row["path"])
        server.env = {}
        await server.start()
        async with server.client() as client:

            async def reported() -> str | None:
                return (await client.get(f"{path}/finish"))["cleanupError"]

            assert "is locked" in (await eventually(reported) or "")
            git(repo, "worktree", "unlock", row["path"])
            await client.post(f"{path}/cleanup", {})
            assert not at(row["path"]).exists()


async def _clean_up_while_somebody_commits(server: Running, work: Work, *, force: bool) -> tuple[httpx.Response, str]:
    """Requests a cleanup, and commits between its look and the removal. Returns the answer and the commit."""
    added: list[str] = []
    remove = server.services.worktrees.remove

    async def remove_later(*arguments: Any, **options: Any) -> Any:
        added.append(commit(work.folder, "late.txt"))
        return await remove(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server.services.worktrees, "remove", remove_later)
        answer = await server.client.http.post(f"/api/worktrees/{work.worktree['id']}/cleanup", json={"force": force})
    (sha,) = added
    return answer, sha


async def test_work_added_after_the_preview_keeps_the_worktree(server: Running) -> None:
    """F7: A commit that somebody adds after the cleanup looked, and before it removes the worktree, is noticed, and the
    worktree stays."""
    work = await merged(server)
    answer, sha = await _clean_up_while_somebody_commits(server, work, force=False)
    refused(answer, 409, "not_merged")
    assert (work.folder / "late.txt").exists()
    assert head(work.main, "feature") == sha
    assert (await work.state())["cleanupError"] is None


async def test_work_added_after_the_preview_keeps_its_branch(server: Running) -> None:
    """F7: With force, a commit that somebody adds after the cleanup looked keeps its branch, which is no longer
    merged."""
    work = await merged(server)
    answer, sha = await _clean_up_while_somebody_commits(server, work, force=True)
    assert answer.json()["steps"][-1] == "Keep branch feature: it is not merged."
    assert not work.folder.exists()
    assert head(work.main, "feature") == sha


@pytest.mark.parametrize("commits", [True, False])
async def test_work_added_after_a_kill_is_not_cleaned_up(tmp_path: Path, commits: bool) -> None:
    """F7: What somebody added between a kill and the next start is not removed: the worktree and its sessions stay, and
    its state says why."""
    server = ServerProcess(tmp_path / "data", tmp_path / "work", module="tests.support.faults.crashing_server")
    server.env = {"CRASH": "after:decide_cleanup"}
    async with server:
        repo = make_repo(server.root / "repo")
        async with server.client() as client:
            known = await client.repo(repo)
            row = await client.post("/api/worktrees", {"repoId": known["id"], "branch": "feature"})
            session = await client.session(known["id"], worktreeId=row["id"])
            path = f"/api/worktrees/{row['id']}"
            with pytest.raises(httpx.TransportError):
                await client.post(f"{path}/cleanup", {})
        await died(server)
        late = at(row["path"]) / "late.txt"
        if commits:
            commit(at(row["path"]), "late.txt")
        else:
            late.write_text("late\n")
        server.env = {}
        await server.start()
        async with server.client() as client:

            async def reported() -> str | None:
                return (await client.get(f"{path}/finish"))["cleanupError"]

            reason = await eventually(reported) or ""
            assert ("does not contain" if commits else "not committed") in reason
            assert late.exists() and "feature" in branches(repo)
            assert (await client.get(f"/api/sessions/{session['id']}"))["status"] == "active"
