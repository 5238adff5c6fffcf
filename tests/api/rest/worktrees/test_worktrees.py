"""Tests that worktrees are created, adopted, shown and changed over REST, with real git."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.api.error_responses import NOBODY, refused
from tests.api.worktree_helpers import (
    at,
    bare,
    branches,
    commit,
    fails,
    head,
    hook,
    known_to_git,
    made,
    registered,
    works,
)
from tests.support.repos import git, make_repo
from tests.support.server import Running, serving

WORKTREE = {
    *("id", "repoId", "name", "path", "branch", "baseRef", "baseSha", "madeByBough", "notes", "boardId", "x", "y"),
    *(
        "createdAt",
        "updatedAt",
        "removedAt",
        "recoveryRef",
        "recoverySha",
        "status",
        "branchMade",
        "setupError",
        "setupOutput",
        "firstPort",
    ),
}


async def test_a_missing_branch_is_created(server: Running) -> None:
    """W1, R1: Creates a branch from the default branch in .worktrees/BRANCH, hidden from the repository's status."""
    repo = await registered(server)
    top = at(repo["path"])
    async with server.client.events() as events:
        tree = await made(server.client, repo, "feature/one", notes="For the login page.")
        event = await events.until(lambda event: event["type"] == "worktree.created")
    assert event["data"] == tree
    assert tree.keys() == WORKTREE
    assert at(tree["path"]) == top / ".worktrees" / "feature" / "one"
    assert (tree["branch"], tree["name"], tree["madeByBough"], tree["branchMade"]) == (*["feature/one"] * 2, True, True)
    assert (tree["baseRef"], tree["baseSha"], tree["status"]) == ("main", head(top), "ready")
    assert git(at(tree["path"]), "branch", "--show-current").strip() == "feature/one"
    assert git(top, "status", "--porcelain") == ""
    await made(server.client, repo, "two")
    excluded = (top / ".git" / "info" / "exclude").read_text().split("\n")
    assert excluded.count("/.worktrees/") == 1
    page = await server.client.get(f"/api/worktrees?repoId={repo['id']}")
    assert [worktree["branch"] for worktree in page["worktrees"]] == ["two", "feature/one"]
    assert (page["total"], page["limit"], page["offset"]) == (2, 20, 0)
    assert (await server.client.get(f"/api/worktrees?repoId={repo['id']}&removed=true"))["total"] == 0


async def test_an_existing_branch_is_used(server: Running) -> None:
    """W1: A local branch is reused, a remote one is tracked, and a new one starts at `base`."""
    top = server.repo()
    first = head(top)
    origin = make_repo(server.root / "origin")
    git(origin, "branch", "theirs")
    theirs = commit(origin, "a.txt")
    git(origin, "branch", "--force", "theirs")
    git(top, "branch", "mine")
    commit(top, "b.txt")
    git(top, "remote", "add", "origin", str(origin))
    git(top, "fetch", "--quiet", "origin")
    repo = await server.client.repo(top)
    mine = await made(server.client, repo, "mine")
    assert (mine["branchMade"], mine["baseSha"], head(at(mine["path"]))) == (False, first, first)
    tracked = await made(server.client, repo, "theirs")
    assert head(at(tracked["path"])) == theirs
    assert git(at(tracked["path"]), "rev-parse", "--abbrev-ref", "theirs@{upstream}").strip() == "origin/theirs"
    assert tracked["branchMade"] is True
    fresh = await made(server.client, repo, "fresh", base="main~1")
    assert (fresh["baseRef"], fresh["baseSha"], head(at(fresh["path"]))) == ("main~1", first, first)


async def test_names_in_any_script(server: Running) -> None:
    """W1: Paths and branches may have spaces and letters of any script."""
    repo = await registered(server, "mit Leerzeichen und ünïcode")
    tree = await made(server.client, repo, "功能/été-1", path="Bäume/drei vier")
    assert at(tree["path"]) == at(repo["path"]) / "Bäume" / "drei vier"
    assert git(at(tree["path"]), "branch", "--show-current").strip() == "功能/été-1"
    assert git(at(repo["path"]), "status", "--porcelain") == ""
    at(tree["path"], "neu ñ.txt").write_text("x\n")
    diff = await server.client.get(f"/api/worktrees/{tree['id']}/diff")
    assert [file["path"] for file in diff["files"]] == ["neu ñ.txt"]


async def test_invalid_branch_names_are_refused(server: Running) -> None:
    """W1: Refuses branch names that git could take for an option or for anything but a new branch."""
    repo = await registered(server)
    bad = ["", "-b", "--force", "HEAD", "@", "@{-1}", "a..b", "a b", "a\nb", "x.lock", "/x", "x/", "a:b", "x" * 300]
    for branch in bad:
        answer = await server.client.http.post("/api/worktrees", json={"repoId": repo["id"], "branch": branch})
        refused(answer, 400, "bad_branch")
    assert branches(at(repo["path"])) == ["main"]
    assert not at(repo["path"], ".worktrees").exists()


async def test_refused_requests_change_nothing(server: Running) -> None:
    """W1: An existing path, a plain folder, a branch in use and an unknown base are refused with a clear message."""
    repo = await registered(server)
    top = at(repo["path"])
    plain = server.root / "plain"
    plain.mkdir()
    folder = await server.client.repo(plain)
    empty = server.root / "empty"
    empty.mkdir()
    git(empty, "init", "--quiet", "--initial-branch=main")
    unborn = await server.client.repo(empty)
    (top / ".worktrees" / "taken").mkdir(parents=True)
    (top / ".worktrees" / "taken" / "file").write_text("mine")
    tree = await made(server.client, repo, "used")
    for known, body, status, code, word in (
        (repo, {"branch": "taken"}, 409, "path_exists", "already exists"),
        (repo, {"branch": "again", "path": tree["path"]}, 409, "path_exists", tree["path"]),
        (folder, {"branch": "x"}, 409, "repo_is_plain", "git init"),
        (unborn, {"branch": "x"}, 409, "repo_empty", "Commit first"),
        (repo, {"branch": "main"}, 409, "branch_in_use", str(top)),
        (repo, {"branch": "used", "path": "elsewhere"}, 409, "branch_in_use", tree["path"]),
        (repo, {"branch": "x", "base": "nowhere"}, 400, "bad_base", "nowhere"),
        (repo, {"branch": "x", "base": "--all"}, 400, "bad_base", "--all"),
        (repo, {"branch": "x", "path": ".git/x"}, 400, "bad_path", "git data"),
        (repo, {"branch": "x", "path": f"{tree['path']}/x"}, 400, "bad_path", "another worktree"),
        (repo, {"branch": "x", "boardId": NOBODY}, 404, "board_not_found", NOBODY),
        (repo, {}, 400, "branch_missing", "branch"),
    ):
        answer = await server.client.http.post("/api/worktrees", json={"repoId": known["id"], **body})
        error = refused(answer, status, code)
        assert word in error["message"], error
    assert (top / ".worktrees" / "taken" / "file").read_text() == "mine"
    assert branches(top) == ["main", "used"]
    assert (await server.client.get("/api/worktrees"))["total"] == 1


async def test_nothing_is_created_outside_the_root(server: Running, tmp_path: Path) -> None:
    """W3: Paths through `..`, links and the data folder are refused and logged as security events."""
    repo = await registered(server)
    top = at(repo["path"])
    outside = tmp_path / "outside"
    outside.mkdir()
    (top / "link").symlink_to(outside)
    (top / ".worktrees").symlink_to(outside)
    for path, code in (
        ("../../outside/x", "path_outside_root"),
        (str(outside / "x"), "path_outside_root"),
        ("link/x", "path_outside_root"),
        (None, "path_outside_root"),
        (str(server.data / "x"), "path_outside_root"),
    ):
        with capture_logs() as logs:
            body = {"repoId": repo["id"], "branch": "x", "path": path}
            refused(await server.client.http.post("/api/worktrees", json=body), 403, code)
        assert [log["log_level"] for log in logs if log["event"] == "path_escape"] == ["warning"]
    assert list(outside.iterdir()) == []
    assert branches(top) == ["main"]


async def test_twenty_worktrees_at_once(server: Running) -> None:
    """W1: Worktrees of one repository can be created in parallel, each with its own branch."""
    top = server.repo()
    origin = make_repo(server.root / "origin")
    for number in range(10):
        git(origin, "branch", f"b{number}")
    git(top, "remote", "add", "origin", str(origin))
    git(top, "fetch", "--quiet", "origin")
    repo = await server.client.repo(top)
    # Ten branches are new; ten track a remote branch, which writes to the shared configuration.
    trees = await asyncio.gather(*(made(server.client, repo, f"b{number}") for number in range(20)))
    assert len({tree["path"] for tree in trees}) == 20
    assert sorted(known_to_git(top)) == sorted(tree["path"] for tree in trees)
    assert git(top, "status", "--porcelain") == ""
    assert (top / ".git" / "info" / "exclude").read_text().count("/.worktrees/") == 1
    again = await asyncio.gather(
        *(server.client.http.post("/api/worktrees", json={"repoId": repo["id"], "branch": "same"}) for _ in range(5))
    )
    assert sorted(item.status_code for item in again) == [201, 409, 409, 409, 409]


async def test_worktrees_of_bare_repositories(server: Running) -> None:
    """W1: A bare repository's worktrees are in .worktrees inside its folder, never among git's own files."""
    repo = await server.client.repo(bare(server.root / "bare.git"))
    tree = await made(server.client, repo, "feature/x")
    assert at(tree["path"]) == server.root / "bare.git" / ".worktrees" / "feature" / "x"
    assert git(at(tree["path"]), "status", "--porcelain") == ""
    body = {"repoId": repo["id"], "branch": "y", "path": "refs/y"}
    refused(await server.client.http.post("/api/worktrees", json=body), 400, "bad_path")
    await server.client.call("DELETE", f"/api/worktrees/{tree['id']}")
    assert not (server.root / "bare.git" / ".worktrees").exists()


async def test_the_same_key_creates_one_worktree(server: Running) -> None:
    """A4: A repeated request returns the first answer, even while the first one is still running."""
    repo = await registered(server)
    body = {"repoId": repo["id"], "branch": "once", "idempotencyKey": "k"}
    answers = await asyncio.gather(*(server.client.post("/api/worktrees", body) for _ in range(4)))
    assert all(answer == answers[0] for answer in answers)
    other = await server.client.http.post("/api/worktrees", json={**body, "branch": "other"})
    refused(other, 409, "idempotency_key_reused")
    await server.client.call("DELETE", f"/api/worktrees/{answers[0]['id']}")
    assert await server.client.post("/api/worktrees", body) == answers[0]
    assert known_to_git(at(repo["path"])) == []
    # A refusal does not use up its key: the request succeeds once the path is free.
    top = at(repo["path"])
    (top / ".worktrees" / "late").mkdir(parents=True)
    late = {"repoId": repo["id"], "branch": "late", "idempotencyKey": "l"}
    refused(await server.client.http.post("/api/worktrees", json=late), 409, "path_exists")
    (top / ".worktrees" / "late").rmdir()
    assert (await server.client.post("/api/worktrees", late))["branch"] == "late"


async def test_worktrees_created_elsewhere_are_adopted(server: Running) -> None:
    """W1: Lists worktrees that only git knows, and adopts them by path without changing them."""
    repo = await registered(server)
    top = at(repo["path"])
    git(top, "worktree", "add", "--quiet", "-b", "hand", str(server.root / "hand made"))
    git(top, "worktree", "add", "--quiet", "--detach", str(server.root / "detached"))
    ours = await made(server.client, repo)
    path = f"/api/repos/{repo['id']}/worktrees"
    listed = (await server.client.get(path))["worktrees"]
    assert {item["path"]: item["worktreeId"] for item in listed}[ours["path"]] == ours["id"]
    unknown = await server.client.get(f"{path}?known=false")
    assert sorted(worktree["branch"] or "" for worktree in unknown["worktrees"]) == ["", "hand"]
    tree = await server.client.post("/api/worktrees", {"repoId": repo["id"], "path": str(server.root / "hand made")})
    assert (tree["branch"], tree["name"], tree["madeByBough"]) == ("hand", "hand", False)
    assert tree["baseSha"] == head(top)
    again = await server.client.post("/api/worktrees", {"repoId": repo["id"], "path": str(server.root / "hand made")})
    assert again == tree
    loose = await server.client.post("/api/worktrees", {"repoId": repo["id"], "path": str(server.root / "detached")})
    assert (loose["branch"], loose["name"]) == (None, "detached")
    assert (await server.client.get(f"{path}?known=false"))["total"] == 0
    other = server.repo("other")
    for wrong in (str(top), str(other), str(server.root)):
        body = {"repoId": repo["id"], "path": wrong}
        refused(await server.client.http.post("/api/worktrees", json=body), 409, "not_a_worktree")
    plain = server.root / "plain"
    plain.mkdir()
    folder = await server.client.repo(plain)
    refused(await server.client.http.get(f"/api/repos/{folder['id']}/worktrees"), 409, "repo_is_plain")


async def test_the_state_of_a_worktree(server: Running) -> None:
    """A2: Shows a worktree's branch, commit, changes, distance from its base, and sessions, as git reports them now."""
    repo = await registered(server)
    tree = await made(server.client, repo)
    path = f"/api/worktrees/{tree['id']}"
    fresh = await server.client.get(path)
    assert {name: fresh[name] for name in WORKTREE} == tree
    assert fresh["sessions"] == []
    assert (fresh["git"]["branch"], fresh["git"]["dirty"], fresh["git"]["ahead"]) == ("feature", False, 0)
    folder = at(tree["path"])
    sha = commit(folder, "a.txt")
    commit(at(repo["path"]), "b.txt")
    (folder / "README.md").write_text("other\n")
    (folder / "deep").mkdir()
    (folder / "deep" / "one").write_text("1")
    (folder / "deep" / "two").write_text("2")
    session = await server.client.post("/api/sessions", {"worktreeId": tree["id"], "agent": "demo", "title": "Here"})
    assert (session["cwd"], session["repoId"]) == (tree["path"], repo["id"])
    row = await server.client.get(path)
    state = row["git"]
    assert (state["sha"], state["dirty"], state["changed"], state["untracked"]) == (sha, True, 1, 2)
    assert (state["ahead"], state["behind"], state["against"]) == (1, 1, "main")
    assert [(item["id"], item["title"], item["status"]) for item in row["sessions"]] == [
        (session["id"], "Here", "active")
    ]
    git(at(repo["path"]), "worktree", "lock", "--reason", "on a stick", tree["path"])
    assert (await server.client.get(path))["git"]["locked"] == "on a stick"
    refused(await server.client.http.get(f"/api/worktrees/{NOBODY}"), 404, "worktree_not_found")


async def test_name_notes_and_position_can_be_changed(server: Running) -> None:
    """R1, A3: A worktree's name, notes, board and position can be changed, with an event."""
    repo = await registered(server)
    board = await server.client.post("/api/boards", {"name": "Plans"})
    tree = await made(server.client, repo, boardId=board["id"], x=1, y=-2.5)
    assert (tree["boardId"], tree["x"], tree["y"]) == (board["id"], 1.0, -2.5)
    refused(await server.client.http.delete(f"/api/boards/{board['id']}"), 409, "board_in_use")
    path = f"/api/worktrees/{tree['id']}"
    async with server.client.events() as events:
        changed = await server.client.call("PATCH", path, json={"name": "Login", "notes": "soon", "x": 7})
        event = await events.until(lambda event: event["type"] == "worktree.patched")
    assert event["data"] == changed
    assert changed | {"updatedAt": ""} == tree | {"name": "Login", "notes": "soon", "x": 7.0, "updatedAt": ""}
    off = await server.client.call("PATCH", path, json={"boardId": None, "x": None, "y": None})
    assert (off["boardId"], off["x"], off["y"]) == (None, None, None)
    for body, status, code in (
        ({}, 400, "nothing_to_change"),
        ({"name": " "}, 400, "bad_name"),
        ({"notes": "x" * 20_001}, 400, "notes_too_long"),
        ({"boardId": NOBODY}, 404, "board_not_found"),
        ({"path": "/x"}, 400, "bad_request"),
    ):
        refused(await server.client.http.patch(path, json=body), status, code)


async def test_hooks_run_as_with_git(server: Running) -> None:
    """W1: An allowed post-checkout hook runs; if it fails, the worktree stays and says so, as with git itself."""
    top = server.repo()
    hook(top, "post-checkout", 'echo "$BOUGH_DATA" > hooked; test "$(git branch --show-current)" != bad')
    repo = await server.client.repo(top)
    await server.client.allow_git(repo["id"], hooks=True)
    good = await made(server.client, repo, "good")
    assert at(good["path"], "hooked").read_text() == "\n"
    assert good["setupError"] is None
    bad = await made(server.client, repo, "bad")
    assert "post-checkout" in bad["setupError"]
    assert bad["status"] == "ready"
    assert at(bad["path"], "README.md").exists()


async def test_a_failed_creation_is_undone(server: Running) -> None:
    """W1: If git fails midway, no folder, branch or row is left."""
    top = server.repo()
    (top / ".gitattributes").write_text("*.x filter=broken\n")
    commit(top, "file.x")
    git(top, "add", ".gitattributes")
    git(top, "commit", "--quiet", "--message", "Break.")
    git(top, "config", "filter.broken.smudge", "false")
    git(top, "config", "filter.broken.required", "true")
    repo = await server.client.repo(top)
    await server.client.allow_git(repo["id"], filters=True)
    body = {"repoId": repo["id"], "branch": "deep/broken"}
    error = refused(await server.client.http.post("/api/worktrees", json=body), 409, "git_failed")
    assert "broken" in error["message"]
    assert not (top / ".worktrees").exists()
    assert branches(top) == ["main"]
    assert known_to_git(top) == []
    assert (await server.client.get("/api/worktrees"))["total"] == 0
    await server.client.allow_git(repo["id"], filters=False)
    assert (await server.client.post("/api/worktrees", body))["status"] == "ready"


async def test_a_worktree_and_its_answer_are_stored_together(server: Running) -> None:
    """W1, A4: A worktree appears together with the answer stored for its key; if storing fails, it is undone unseen."""
    repo = await registered(server)
    body = {"repoId": repo["id"], "branch": "feature", "idempotencyKey": "once"}
    async with server.client.events() as events:
        fails(server, "idempotency", 'NEW.answer LIKE \'%"status":"ready"%\'')
        refused(await server.client.http.post("/api/worktrees", json=body), 409, "constraint_other")
        assert not at(repo["path"], ".worktrees").exists()
        works(server)
        tree = await server.client.post("/api/worktrees", body)
        event = await events.until(lambda event: event["type"].startswith("worktree."))
    assert (event["type"], event["data"]["id"]) == ("worktree.created", tree["id"])


@pytest.mark.postgres
async def test_worktrees_on_postgres(tmp_path: Path, postgres_url: str) -> None:
    """R1, W1, W2: Worktrees are created, changed, removed and recovered on PostgreSQL too."""
    async with serving(tmp_path, database=postgres_url) as server:
        repo = await registered(server)
        body = {"setup": ["true"], "copyIgnored": [".env"]}
        assert (await server.client.call("PATCH", f"/api/repos/{repo['id']}", json=body))["setup"] == ["true"]
        tree = await made(server.client, repo, x=1, y=2)
        assert (tree["status"], tree["setupError"]) == ("ready", None)
        at(tree["path"], "new.txt").write_text("x")
        path = f"/api/worktrees/{tree['id']}"
        refused(await server.client.http.delete(path), 409, "worktree_dirty")
        await server.client.call("DELETE", f"{path}?force=true")
        assert not at(tree["path"]).exists()
        assert (await server.client.get("/api/worktrees?removed=true"))["total"] == 1
        back = await server.client.post(f"{path}/recover")
        assert at(back["path"], "new.txt").read_text() == "x"
