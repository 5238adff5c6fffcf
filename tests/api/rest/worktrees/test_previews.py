"""Tests previews, which show what creating or removing a worktree would do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.api.error_responses import NOBODY, Json, refused
from tests.support.client import Client
from tests.support.repos import git
from tests.support.server import Running


async def preview(client: Client, repo: Json, **query: Any) -> Json:
    return await client.get("/api/worktrees/preview", params={"repoId": repo["id"], **query})


async def test_a_preview_matches_the_created_worktree(server: Running) -> None:
    """O4: A preview shows the path and branch that the worktree will get, and creates nothing."""
    client, top = server.client, server.repo()
    repo = await client.repo(top)
    git(top, "branch", "old")
    for query in ({"branch": "feature/x"}, {"branch": "old"}, {"branch": "y", "path": "elsewhere"}):
        planned = await preview(client, repo, **query)
        assert (planned["problem"], planned["code"], planned["suggestion"], planned["pathExists"]) == (
            None,
            None,
            None,
            False,
        )
        assert planned["branchExists"] == (query["branch"] == "old")
        assert git(top, "worktree", "list").count("\n") == 1 + ["feature/x", "old", "y"].index(query["branch"])
        made = await client.post("/api/worktrees", {"repoId": repo["id"], **query})
        assert (made["path"], made["branch"]) == (planned["path"], planned["branch"])


async def test_a_preview_shows_the_same_refusals(server: Running) -> None:
    """O4: A preview gives each refusal in the same words as creation, and suggests a free name where one helps."""
    client, top = server.client, server.repo()
    repo = await client.repo(top)
    await client.post("/api/worktrees", {"repoId": repo["id"], "branch": "x"})
    (top / ".worktrees" / "y").mkdir()
    for query, code, suggestion in (
        ({"branch": "x"}, "branch_in_use", "x-2"),
        ({"branch": "main"}, "branch_in_use", "main-2"),
        ({"branch": "y"}, "path_exists", "y-2"),
        ({"branch": "my idea!"}, "bad_branch", "my-idea"),
        ({"branch": "z", "path": ".worktrees/y"}, "path_exists", None),
        ({"branch": "z", "path": "/etc/z"}, "path_outside_root", None),
        ({"branch": "z", "base": "nowhere"}, "bad_base", None),
        ({"branch": "z", "path": ".worktrees/x/inner"}, "bad_path", None),
    ):
        planned = await preview(client, repo, **query)
        assert (planned["code"], planned["suggestion"]) == (code, suggestion)
        answer = await client.http.post("/api/worktrees", json={"repoId": repo["id"], **query})
        assert answer.json()["error"]["message"] == planned["problem"]
        assert planned["pathExists"] == (query["branch"] in ("x", "y") or query.get("path") == ".worktrees/y")
    assert (await preview(client, repo, branch="z", path="/etc/z"))["path"] == "/etc/z"
    assert (await preview(client, repo))["code"] == "branch_missing"
    plain = server.root / "plain"
    plain.mkdir()
    assert (await preview(client, await client.repo(plain), branch="b"))["code"] == "repo_is_plain"
    refused(await client.http.get(f"/api/worktrees/preview?repoId={NOBODY}&branch=b"), 404, "repo_not_found")
    refused(await client.http.get("/api/worktrees/preview?branch=b"), 400)


async def test_a_preview_of_losses(server: Running) -> None:
    """W2, O4: Lists the files, commits and sessions at risk, in bounded lists with full counts, as a removal would."""
    client, top = server.client, server.repo()
    repo = await client.repo(top)
    tree = await client.post("/api/worktrees", {"repoId": repo["id"], "branch": "x"})
    folder, address = Path(tree["path"]), f"/api/worktrees/{tree['id']}"
    nothing = {"uncommitted": 0, "untracked": 0, "unpushed": 0, "sessions": 0}
    losses = await client.get(f"{address}/losses")
    assert (losses["removable"], losses["counts"], losses["why"]) == (True, nothing, "Nothing would be lost.")
    (folder / "kept.txt").write_text("kept")
    git(folder, "add", "kept.txt")
    git(folder, "commit", "--quiet", "--message", "Keep it.")
    (folder / "README.md").write_text("changed")
    for number in range(60):
        (folder / f"new{number:02}.txt").write_text("new")
    session = await client.session(repo["id"], worktreeId=tree["id"])
    losses = await client.get(f"{address}/losses")
    assert losses["counts"] == {"uncommitted": 1, "untracked": 60, "unpushed": 1, "sessions": 1}
    assert (losses["uncommitted"], len(losses["untracked"]), losses["untracked"][0]) == (["README.md"], 50, "new00.txt")
    assert losses["unpushed"] == [{"sha": git(folder, "rev-parse", "HEAD").strip(), "subject": "Keep it."}]
    assert (losses["sessions"], losses["removable"]) == ([session["id"]], False)
    assert losses["why"].startswith("Active sessions are working in worktree")
    losses = await client.get(f"{address}/losses?sessionId={session['id'][-8:]}")
    assert (losses["sessions"], losses["counts"]["sessions"], losses["removable"]) == ([], 0, False)
    assert losses["why"].startswith("Worktree x has 61 uncommitted or untracked files (")
    await client.call("DELETE", f"/api/sessions/{session['id']}")
    refused(await client.http.delete(address), 409, "worktree_dirty")
    git(top, "worktree", "lock", str(folder))
    assert "locked" in (await client.get(f"{address}/losses"))["why"]
    git(top, "worktree", "unlock", str(folder))
    await client.call("DELETE", f"{address}?force=true")
    refused(await client.http.get(f"{address}/losses"), 409, "worktree_removed")
    refused(await client.http.get(f"/api/worktrees/{NOBODY}/losses"), 404, "worktree_not_found")


async def test_losses_of_adopted_and_missing_worktrees(server: Running) -> None:
    """W2: Removing an adopted worktree, or one whose folder is gone, loses nothing."""
    client, top = server.client, server.repo()
    repo = await client.repo(top)
    git(top, "worktree", "add", "--quiet", "-b", "mine", str(server.root / "mine"))
    adopted = await client.post("/api/worktrees", {"repoId": repo["id"], "path": str(server.root / "mine")})
    (server.root / "mine" / "new.txt").write_text("new")
    losses = await client.get(f"/api/worktrees/{adopted['id']}/losses")
    assert (losses["removable"], losses["counts"]["untracked"]) == (True, 1)
    assert "its folder stays" in losses["why"]
    made = await client.post("/api/worktrees", {"repoId": repo["id"], "branch": "gone"})
    git(top, "worktree", "move", made["path"], str(server.root / "moved"))
    losses = await client.get(f"/api/worktrees/{made['id']}/losses")
    assert (losses["removable"], losses["why"]) == (True, "Its folder no longer exists.")
