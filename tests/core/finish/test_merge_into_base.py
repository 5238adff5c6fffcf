"""Tests merging a worktree's branch into its base, undoing that, and what is refused."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import pytest

from bough.core.checkpoints.take import Checkpoints
from tests.api.error_responses import refused
from tests.api.worktree_helpers import at, bare, commit, head, made, registered
from tests.core.finish.finish_helpers import Work, conflicting, log, parents, start, status
from tests.support.repos import git
from tests.support.server import Running


async def test_each_way_to_merge(server: Running) -> None:
    """F3: A merge commit, a fast-forward and a squash each move the base and its clean checkout, after a preview that
    changes nothing; untracked files there stay."""
    work = await start(server)
    (work.main / "untracked.txt").write_text("u\n")
    sha = commit(work.folder, "one.txt")
    preview = await work.preview("merge")
    assert preview["steps"] == [
        f"Merge 1 commit of feature into main (checked out at {work.main}) with a merge commit."
    ]
    assert (preview["files"], log(work.main)) == (["one.txt"], ["Begin."])
    done = await work.do("merge")
    assert parents(work.main, "main")[1] == sha and done["sha"] == head(work.main)
    assert (work.main / "one.txt").exists() and status(work.main) == ["?? untracked.txt"]
    assert (await work.state())["merged"] is True
    await work.do("update")
    sha = commit(work.folder, "two.txt")
    assert (await work.do("merge", how="ff"))["sha"] == sha == head(work.main)
    commit(work.folder, "three.txt")
    commit(work.folder, "four.txt")
    squashed = await work.do("merge", how="squash", message="Three and four.")
    assert parents(work.main, "main") == [sha] and log(work.main)[0] == "Three and four."
    assert squashed["filesTotal"] == 2 and status(work.main) == ["?? untracked.txt"]
    assert (await work.state())["merged"] is True


async def test_a_base_that_is_not_checked_out_is_moved_alone(server: Running) -> None:
    """F3: A base branch that is checked out nowhere is moved safely, and no folder changes."""
    work = await start(server)
    git(work.main, "checkout", "--quiet", "-b", "elsewhere")
    (work.main / "README.md").write_text("dirty\n")
    commit(work.folder, "one.txt")
    before = head(work.main, "main")
    done = await work.do("merge")
    assert parents(work.main, "main")[0] == before and done["sha"] == head(work.main, "main")
    assert status(work.main) == [" M README.md"] and not (work.main / "one.txt").exists()


async def test_a_base_of_a_bare_repository(server: Running) -> None:
    """F3: The base of a bare repository is merged into."""
    path = bare(server.root / "bare.git")
    repo = await server.client.repo(path)
    work = Work(server, repo, await made(server.client, repo, "feature"))
    sha = commit(work.folder, "one.txt")
    await work.do("merge", how="ff")
    assert git(path, f"--git-dir={path}", "rev-parse", "main").strip() == sha


async def test_a_dirty_base_is_left_alone(server: Running) -> None:
    """F3: A base checkout with uncommitted changes, with a merge in progress, or with files in the way is never
    touched."""
    work = await start(server)
    commit(work.folder, "one.txt", "branch\n")
    (work.main / "README.md").write_text("dirty\n")
    error = await work.refused("merge", "base_dirty")
    assert error["details"]["files"] == ["README.md"]
    git(work.main, "checkout", "--quiet", "README.md")
    (work.main / "one.txt").write_text("untracked\n")
    error = await work.refused("merge", "base_dirty")
    assert error["details"]["files"] == ["one.txt"] and (work.main / "one.txt").read_text() == "untracked\n"
    (work.main / "one.txt").unlink()
    (work.main / ".git" / "MERGE_HEAD").write_text(head(work.folder) + "\n")
    await work.refused("merge", "base_busy")
    assert log(work.main) == ["Begin."]


async def test_uncommitted_files_of_the_worktree_block_a_merge(server: Running) -> None:
    """F3: Files that are not committed would be missing, so the merge is refused unless it is forced."""
    work = await start(server)
    commit(work.folder, "one.txt")
    (work.folder / "two.txt").write_text("2\n")
    await work.refused("merge", "worktree_dirty")
    await work.do("merge", force=True)
    assert (work.main / "one.txt").exists() and not (work.main / "two.txt").exists()


async def test_a_conflict_and_a_base_that_moved_on_are_refused(server: Running) -> None:
    """F3: A conflict merges nothing and names the files; a fast-forward is refused if the base has other commits."""
    work = await start(server)
    conflicting(work)
    before = head(work.main)
    await work.refused("merge", "merge_conflict")
    await work.refused("merge", "merge_conflict", how="squash")
    await work.refused("merge", "not_fast_forward", how="ff")
    assert head(work.main) == before and status(work.main) == []


async def test_a_merge_can_be_undone(server: Running) -> None:
    """F3: The last merge is undone, with the base's files, while the base has not moved on; not twice."""
    work = await start(server)
    commit(work.folder, "one.txt")
    before = head(work.main)
    done = await work.do("merge", how="squash")
    assert head(work.main, done["recoveryRef"]) == before
    preview = await work.preview("merge/undo")
    assert preview["refusal"] is None and head(work.main) == done["sha"]
    undone = await work.do("merge/undo")
    assert (undone["sha"], head(work.main)) == (before, before)
    assert status(work.main) == [] and not (work.main / "one.txt").exists()
    assert (await work.state())["merged"] is False
    await work.refused("merge/undo", "nothing_to_undo")
    await work.do("merge")
    commit(work.main, "later.txt")
    await work.refused("merge/undo", "merge_blocked")


async def test_a_turn_in_the_base_blocks_a_merge(server: Running) -> None:
    """F3: While a turn runs in the base's checkout, a merge is refused."""
    work = await start(server)
    commit(work.folder, "one.txt")
    session = await server.client.session(work.repo["id"], agent="demo")
    task = await server.client.prompt(session["id"], "[[hang]]")
    await server.client.wait_task(task, "running")
    error = await work.refused("merge", "folder_busy")
    assert error["details"]["sessions"] == [session["id"]]


async def test_another_branch_as_the_base(server: Running) -> None:
    """F3: `into` names another branch; one that does not exist or is the worktree's own is refused."""
    work = await start(server)
    git(work.main, "branch", "release")
    sha = commit(work.folder, "one.txt")
    await work.do("merge", into="release", how="ff")
    assert head(work.main, "release") == sha and log(work.main) == ["Begin."]
    await work.refused("merge", "no_base", into="missing")
    await work.refused("merge", "no_base", into="feature")


async def test_only_what_was_looked_at_is_merged(server: Running) -> None:
    """F3: A request that names the commit and branch that somebody looked at is refused if they have changed since."""
    work = await start(server)
    first = commit(work.folder, "one.txt")
    commit(work.folder, "two.txt")
    for verb in ("merge", "push", "commit", "update"):
        await work.refused(verb, "head_changed", expectedHead=first)
        await work.refused(verb, "head_changed", expectedBranch="other")
    state = await work.state()
    done = await work.do("merge", how="ff", expectedHead=state["sha"], expectedBranch=state["branch"])
    assert done["sha"] == state["sha"]


async def test_a_base_that_is_gone_is_not_replaced(server: Running) -> None:
    """F3: A worktree whose base branch is gone is not merged into the default branch instead."""
    repo = await registered(server)
    git(at(repo["path"]), "branch", "develop")
    work = Work(server, repo, await made(server.client, repo, "feature", base="develop"))
    commit(work.folder, "one.txt")
    git(work.main, "branch", "-D", "develop")
    await work.refused("merge", "no_base")


async def test_refs_of_bough_are_not_moved(server: Running) -> None:
    """F1, F3: Neither a commit nor a merge moves a ref of Bough's own, to which HEAD or a branch was pointed."""
    work = await start(server)
    commit(work.folder, "one.txt")
    await work.do("merge")
    ref = f"refs/bough/merges/{work.worktree['id']}/before"
    before = git(work.main, "rev-parse", ref)
    commit(work.folder, "two.txt")
    git(work.main, "symbolic-ref", "refs/heads/alias", ref)
    await work.refused("merge", "no_base", into="alias")
    git(work.folder, "symbolic-ref", "HEAD", ref)
    (work.folder / "planted.txt").write_text("planted\n")
    await work.refused("commit", "no_branch", message="Planted.")
    assert git(work.main, "rev-parse", ref) == before


async def test_a_merge_that_failed_does_not_count(server: Running) -> None:
    """F3: A merge that git refuses because the base's index is locked names the lock, does not show as merged, and
    leaves the earlier merge as the one to undo."""
    work = await start(server)
    commit(work.folder, "one.txt")
    lock = work.main / ".git" / "index.lock"
    lock.touch()
    path = f"/api/worktrees/{work.worktree['id']}/merge"
    error = refused(await server.client.http.post(path, json={}), 409, "index_locked")
    assert str(lock) in error["message"]
    state = await work.state()
    assert (state["merged"], state["lastMerge"], log(work.main)) == (False, None, ["Begin."])
    lock.unlink()
    first = (await work.do("merge"))["sha"]
    git(work.main, "branch", "release", f"{first}~1")
    commit(work.folder, "two.txt")
    lock.touch()
    refused(await server.client.http.post(path, json={"how": "squash"}), 409, "index_locked")
    assert (await work.state())["lastMerge"]["after"] == first
    (work.main / ".git" / "refs" / "heads" / "release.lock").touch()
    refused(await server.client.http.post(path, json={"into": "release"}), 409, "git_failed")
    lock.unlink()
    state = await work.state()
    assert (state["merged"], state["lastMerge"]["after"], state["lastMerge"]["branch"]) == (False, first, "main")
    assert (await work.do("merge/undo"))["sha"] == head(work.main) and log(work.main) == ["Begin."]


async def test_a_merge_that_the_base_does_not_contain_does_not_count(server: Running) -> None:
    """F3: What is kept for undoing a merge counts only while the base contains it. A server that is killed before it
    moves the base leaves the same as somebody who moves the base back."""
    work = await start(server)
    commit(work.folder, "one.txt")
    await work.do("merge")
    git(work.main, "reset", "--quiet", "--hard", "HEAD~1")
    state = await work.state()
    assert (state["merged"], state["lastMerge"]) == (False, None)
    await work.refused("merge/undo", "nothing_to_undo")
    again = await work.do("merge")
    commit(work.main, "later.txt")
    state = await work.state()
    assert (state["merged"], state["lastMerge"]["after"]) == (True, again["sha"])


async def test_folders_are_locked_in_the_same_order(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """F3: Merges in opposite directions between two worktrees lock both in the same order, so that neither can wait for
    the other for ever."""
    work = await start(server)
    back = Work(server, work.repo, await made(server.client, work.repo, "back"))
    locked: list[str] = []
    gate = Checkpoints.gate

    def noting(checkpoints: Checkpoints, cwd: str) -> AbstractAsyncContextManager[None]:
        locked.append(cwd)
        return gate(checkpoints, cwd)

    monkeypatch.setattr(Checkpoints, "gate", noting)
    commit(work.folder, "one.txt")
    await work.do("merge", into="back")
    commit(back.folder, "two.txt")
    await back.do("merge", into="feature")
    assert locked == sorted((str(work.folder), str(back.folder))) * 2
