"""Tests removing worktrees: what blocks it, what is saved, recovery, and diffs."""

from __future__ import annotations

import shutil
from pathlib import Path

from bough.git.working_copy import diff as working_copy_diff
from tests.api.error_responses import Json, refused
from tests.api.worktree_helpers import at, branches, commit, head, hook, known_to_git, made, registered
from tests.support.repos import git, make_repo
from tests.support.server import Running, serving


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Returns the mode, and the content or link target, of every file in a working copy."""
    files: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.split("/")[0] == ".git" or (path.is_dir() and not path.is_symlink()):
            continue
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        files[name] = (path.lstat().st_mode, content)
    return files


def work(folder: Path) -> None:
    """Makes every kind of change."""
    commit(folder, "kept.txt", "one\ntwo\nthree\n" * 10, "Keep.")
    commit(folder, "doomed.txt")
    commit(folder, "old name.txt", "a line\n" * 20)
    (folder / "README.md").write_text("changed\n")
    (folder / "doomed.txt").unlink()
    (folder / "old name.txt").rename(folder / "new name.txt")
    (folder / "staged.txt").write_text("staged\n")
    git(folder, "add", "staged.txt")
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "ünträcked").write_text("u\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("nowhere/at/all")
    (folder / "binary").write_bytes(bytes(range(256)))


async def test_unsaved_work_blocks_a_removal(server: Running) -> None:
    """W2: Uncommitted files, untracked files and commits on no other branch block a removal, each by name."""
    repo = await registered(server)
    tree = await made(server.client, repo)
    folder = at(tree["path"])
    path = f"/api/worktrees/{tree['id']}"
    sha = commit(folder, "a.txt", message="Only here.")
    (folder / "README.md").write_text("changed\n")
    (folder / "new").mkdir()
    (folder / "new" / "file").write_text("x")
    error = refused(await server.client.http.delete(path), 409, "worktree_dirty")
    assert error["details"]["files"] == [
        {"path": "README.md", "state": "modified"},
        {"path": "new/file", "state": "untracked"},
    ]
    assert error["details"]["commits"] == [{"sha": sha, "subject": "Only here."}]
    assert (error["details"]["filesTotal"], error["details"]["commitsTotal"]) == (2, 1)
    assert "README.md" in error["message"]
    assert "Only here." in error["message"]
    assert (await server.client.get(path))["status"] == "ready"
    git(folder, "checkout", "--quiet", "README.md")
    shutil.rmtree(folder / "new")
    refused(await server.client.http.delete(path), 409, "worktree_dirty")
    # On another branch, the commits are safe.
    git(folder, "branch", "other")
    async with server.client.events() as events:
        gone = await server.client.call("DELETE", path)
        event = await events.until(lambda event: event["type"] == "worktree.removed")
    assert event["data"]["removedAt"] == gone["removedAt"]
    assert (gone["forgotten"], gone["recover"], gone["recoveryRef"], gone["branchDeleted"]) == (
        False,
        None,
        None,
        False,
    )
    assert not folder.exists()
    assert not folder.parent.exists()
    assert branches(at(repo["path"])) == ["feature", "main", "other"]
    refused(await server.client.http.delete(path), 409, "worktree_removed")
    refused(await server.client.http.get(f"{path}/diff"), 409, "worktree_removed")
    assert (await server.client.get(path))["git"] is None
    assert [worktree["id"] for worktree in (await server.client.get("/api/worktrees?removed=true"))["worktrees"]] == [
        tree["id"]
    ]
    back = await server.client.post(f"{path}/recover")
    assert (head(folder), back["branch"], back["removedAt"]) == (sha, "feature", None)


async def test_a_forced_removal_keeps_everything(server: Running) -> None:
    """W2: A forced removal first saves everything to a recovery ref, without hooks, and one call restores it."""
    top = server.repo()
    repo = await server.client.repo(top)
    tree = await made(server.client, repo)
    folder = at(tree["path"])
    work(folder)
    before, sha = state(folder), head(folder)
    hook(top, "pre-commit", "exit 1")
    hook(top, "commit-msg", "exit 1")
    hook(top, "reference-transaction", "exit 1")
    path = f"/api/worktrees/{tree['id']}"
    gone = await server.client.call("DELETE", f"{path}?force=true&branch=delete")
    ref = f"refs/bough/recovery/{tree['id']}"
    assert (gone["recoveryRef"], gone["branchDeleted"]) == (ref, True)
    (top / ".git" / "hooks" / "reference-transaction").unlink()
    assert not folder.exists()
    assert head(top, f"{ref}^") == sha
    sha_of_files = head(top, ref)
    assert gone["recoverySha"] == sha_of_files
    assert gone["recover"].endswith(
        f"git worktree add '{folder}' {sha_of_files}" if " " in str(folder) else f"{folder} {sha_of_files}"
    )
    git(top, "stash", "list")
    assert git(top, "for-each-ref", "refs/stash") == ""
    git(top, "gc", "--quiet", "--prune=now")
    back = await server.client.post(f"{path}/recover", {"idempotencyKey": "r"})
    assert back["id"] == tree["id"]
    assert state(folder) == before
    assert (head(folder), git(folder, "branch", "--show-current").strip()) == (sha, "feature")
    assert await server.client.post(f"{path}/recover", {"idempotencyKey": "r"}) == back
    refused(await server.client.http.post(f"{path}/recover"), 409, "worktree_not_removed")


async def test_a_branch_is_deleted_only_on_request(server: Running) -> None:
    """W2: A branch is deleted only on request, only if Bough created it, and only if no commit would be lost."""
    repo = await registered(server)
    top = at(repo["path"])
    git(top, "branch", "theirs")
    theirs = await made(server.client, repo, "theirs")
    refused(await server.client.http.delete(f"/api/worktrees/{theirs['id']}?branch=delete"), 409, "branch_not_ours")
    clean = await made(server.client, repo, "clean")
    gone = await server.client.call("DELETE", f"/api/worktrees/{clean['id']}?branch=delete")
    assert gone["branchDeleted"] is True
    forced = await made(server.client, repo, "forced")
    sha = commit(at(forced["path"]), "a.txt")
    gone = await server.client.call("DELETE", f"/api/worktrees/{forced['id']}?branch=delete&force=true")
    assert gone["branchDeleted"] is True
    assert head(top, f"{gone['recoveryRef']}^") == sha
    moved = await made(server.client, repo, "moved")
    commit(at(moved["path"]), "b.txt")
    git(at(moved["path"]), "switch", "--quiet", "--detach", "main")
    # The branch's commits are not in the worktree's HEAD, so the recovery ref does not hold them.
    gone = await server.client.call("DELETE", f"/api/worktrees/{moved['id']}?branch=delete&force=true")
    assert gone["branchDeleted"] is False
    assert branches(top) == ["main", "moved", "theirs"]
    back = await server.client.post(f"/api/worktrees/{forced['id']}/recover")
    assert (back["branch"], head(at(back["path"]))) == ("forced", sha)


async def test_recovery_does_not_touch_a_changed_branch(server: Running) -> None:
    """W2: If its branch has moved on, a worktree is recovered on a new branch."""
    repo = await registered(server)
    top = at(repo["path"])
    tree = await made(server.client, repo)
    sha = commit(at(tree["path"]), "a.txt")
    path = f"/api/worktrees/{tree['id']}"
    await server.client.call("DELETE", f"{path}?force=true")
    git(top, "switch", "--quiet", "feature")
    later = commit(top, "b.txt")
    git(top, "switch", "--quiet", "main")
    back = await server.client.post(f"{path}/recover")
    assert (back["branch"], head(at(back["path"]))) == ("feature-recovered", sha)
    assert head(top, "feature") == later
    await server.client.call("DELETE", f"{path}?force=true")
    at(tree["path"]).mkdir(parents=True)
    refused(await server.client.http.post(f"{path}/recover"), 409, "path_exists")


async def test_detached_heads_and_nested_repositories(server: Running) -> None:
    """W2: Commits on a detached HEAD block a removal; repositories inside the worktree are saved too."""
    repo = await registered(server)
    top = at(repo["path"])
    tree = await made(server.client, repo)
    folder = at(tree["path"])
    git(folder, "switch", "--quiet", "--detach")
    sha = commit(folder, "a.txt", message="Loose.")
    inner = make_repo(folder / "inner")
    (inner / "more.txt").write_text("more\n")
    path = f"/api/worktrees/{tree['id']}"
    error = refused(await server.client.http.delete(path), 409, "worktree_dirty")
    assert [item["subject"] for item in error["details"]["commits"]] == ["Loose."]
    assert [file["path"] for file in error["details"]["files"]] == ["inner/"]
    gone = await server.client.call("DELETE", f"{path}?force=true")
    (ref,) = gone["innerRefs"]
    assert git(top, "show", f"{ref}:more.txt") == "more\n"
    back = await server.client.post(f"{path}/recover")
    assert (back["branch"], head(folder)) == (None, sha)


async def test_adopted_worktrees_are_only_forgotten(server: Running) -> None:
    """W2: Removing an adopted worktree leaves its folder; a forced removal saves and deletes it."""
    repo = await registered(server)
    top, folder = at(repo["path"]), server.root / "hand"
    git(top, "worktree", "add", "--quiet", "-b", "hand", str(folder))
    (folder / "new.txt").write_text("x")
    body = {"repoId": repo["id"], "path": str(folder)}
    tree = await server.client.post("/api/worktrees", body)
    gone = await server.client.call("DELETE", f"/api/worktrees/{tree['id']}")
    assert (gone["forgotten"], gone["recover"]) == (True, None)
    assert (folder / "new.txt").exists()
    again = await server.client.post("/api/worktrees", body)
    assert again["id"] != tree["id"]
    gone = await server.client.call("DELETE", f"/api/worktrees/{again['id']}?force=true")
    assert gone["forgotten"] is False
    assert not folder.exists()
    assert git(top, "show", f"{gone['recoveryRef']}:new.txt") == "x"


async def test_locked_missing_and_nested_worktrees(server: Running) -> None:
    """W2: A locked worktree, or one that contains another, is not removed; one whose folder is gone is cleaned up."""
    repo = await registered(server)
    top = at(repo["path"])
    locked = await made(server.client, repo, "locked")
    git(top, "worktree", "lock", "--reason", "on a stick", locked["path"])
    for query in ("", "?force=true"):
        answer = await server.client.http.delete(f"/api/worktrees/{locked['id']}{query}")
        assert "on a stick" in refused(answer, 409, "worktree_locked")["message"]
    git(top, "worktree", "unlock", locked["path"])
    inside = str(at(locked["path"], ".worktrees", "inside"))
    git(top, "worktree", "add", "--quiet", "-b", "inside", inside)
    refused(await server.client.http.delete(f"/api/worktrees/{locked['id']}"), 409, "worktree_holds_others")
    vanished = await made(server.client, repo, "vanished")
    sha = commit(at(vanished["path"]), "a.txt")
    shutil.rmtree(vanished["path"])
    assert (await server.client.get(f"/api/worktrees/{vanished['id']}"))["git"]["missing"] is True
    gone = await server.client.call("DELETE", f"/api/worktrees/{vanished['id']}")
    assert head(top, f"{gone['recoveryRef']}^") == sha
    assert sorted(known_to_git(top)) == sorted([locked["path"], inside])
    back = await server.client.post(f"/api/worktrees/{vanished['id']}/recover")
    assert head(at(back["path"])) == sha
    # A folder that exists but is no longer a worktree is not deleted.
    lost = await made(server.client, repo, "lost")
    at(lost["path"], ".git").unlink()
    git(top, "worktree", "prune", "--expire=now")
    refused(await server.client.http.delete(f"/api/worktrees/{lost['id']}?force=true"), 409, "not_a_worktree")
    assert at(lost["path"], "README.md").exists()


async def test_a_repository_whose_folder_is_gone(server: Running) -> None:
    """W2: If a repository's folder is gone, its worktrees can be forgotten, and then the repository."""
    repo = await registered(server)
    tree = await made(server.client, repo)
    shutil.rmtree(repo["path"])
    refused(await server.client.http.delete(f"/api/repos/{repo['id']}"), 409, "repo_in_use")
    gone = await server.client.call("DELETE", f"/api/worktrees/{tree['id']}")
    assert gone["forgotten"] is True
    await server.client.call("DELETE", f"/api/repos/{repo['id']}")
    refused(await server.client.http.get(f"/api/worktrees/{tree['id']}"), 404, "worktree_not_found")


def of(diff: Json, path: str) -> Json:
    (entry,) = [file for file in diff["files"] if file["path"] == path]
    return entry


async def test_diff_of_a_worktree(server: Running) -> None:
    """A2: A diff has text and counts, untracked files, renames and binaries, and does not touch index or objects."""
    repo = await registered(server)
    tree = await made(server.client, repo)
    folder = at(tree["path"])
    path = f"/api/worktrees/{tree['id']}/diff"
    empty = await server.client.get(path)
    assert (empty["files"], empty["text"], empty["truncated"], empty["note"]) == ([], "", False, None)
    work(folder)
    index = at(git(folder, "rev-parse", "--path-format=absolute", "--git-path", "index").strip())
    before, objects = index.read_bytes(), git(folder, "count-objects", "-v")
    since_head = await server.client.get(f"{path}?against=head")
    assert (index.read_bytes(), git(folder, "count-objects", "-v")) == (before, objects)
    assert since_head["sha"] == head(folder)
    renamed = of(since_head, "new name.txt")
    assert (renamed["status"], renamed["oldPath"]) == ("renamed", "old name.txt")
    assert of(since_head, "doomed.txt")["status"] == "deleted"
    assert (of(since_head, "README.md")["additions"], of(since_head, "README.md")["deletions"]) == (1, 1)
    assert of(since_head, "binary") | {"path": ""} == {
        **{"path": "", "oldPath": None, "status": "added", "additions": 0, "deletions": 0},
        **{"binary": True, "untracked": True},
    }
    assert of(since_head, "deep/er/ünträcked")["untracked"] is True
    assert of(since_head, "staged.txt")["untracked"] is False
    assert "Binary files /dev/null and b/binary differ" in since_head["text"]
    assert "+changed\n" in since_head["text"]
    since_base = await server.client.get(path)
    assert since_base["sha"] == tree["baseSha"]
    assert of(since_base, "kept.txt")["additions"] == 30
    assert not [file for file in since_base["files"] if file["path"] in ("doomed.txt", "old name.txt")]
    assert since_base["additions"] == sum(file["additions"] for file in since_base["files"])


async def test_large_diffs_are_truncated(tmp_path: Path) -> None:
    """A2: A diff has a size limit and says what is missing."""
    async with serving(tmp_path) as server:
        repo = await registered(server)
        tree = await made(server.client, repo)
        folder = at(tree["path"])
        (folder / "long.txt").write_text("a line of text\n" * 200_000)
        (folder / "huge.bin").write_bytes(b"\0" * (working_copy_diff.LARGEST_UNTRACKED + 1))
        diff = await server.client.get(f"/api/worktrees/{tree['id']}/diff")
        assert diff["truncated"] is True
        assert "cut after" in diff["note"]
        assert "not read: 1" in diff["note"]
        assert len(diff["text"]) <= working_copy_diff.LARGEST_TEXT
        assert diff["text"].endswith("\n")
        assert of(diff, "long.txt")["additions"] == 200_000
        assert of(diff, "huge.bin")["binary"] is True
