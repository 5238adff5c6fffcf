"""Tests sessions that are created with their own worktree and removed with it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.api.error_responses import NOBODY, Json, refused
from tests.api.worktree_helpers import at, branches, commit, known_to_git, made, registered
from tests.support.server import Running, serving


async def opened(server: Running, repo: Json, branch: str = "feature", **fields: object) -> Json:
    """Creates a session in a new worktree."""
    return await server.client.session(repo["id"], worktree={"branch": branch}, **fields)


async def test_one_request_creates_both(server: Running) -> None:
    """L3, A4: One request, with one key, creates the worktree and the session."""
    repo = await registered(server)
    body = {"repoId": repo["id"], "agent": "demo", "idempotencyKey": "k", "initialPrompt": "[[write a.txt b]]"}
    body["worktree"] = {"branch": "feature/x", "base": "main"}
    answers = await asyncio.gather(*(server.client.post("/api/sessions", body) for _ in range(3)))
    session = answers[0]
    assert all(answer == session for answer in answers)
    tree = await server.client.get(f"/api/worktrees/{session['worktreeId']}")
    assert (tree["path"], tree["branch"]) == (session["cwd"], "feature/x")
    assert session["gitState"]["branch"] == "feature/x"
    await server.client.wait_task(session["taskId"])
    assert at(tree["path"], "a.txt").read_text().strip() == "b"
    assert (
        (await server.client.get("/api/worktrees"))["total"] == (await server.client.get("/api/sessions"))["total"] == 1
    )
    for wrong, status, code in (
        ({"worktree": {"branch": "y"}, "worktreeId": tree["id"]}, 400, "repo_missing"),
        ({"worktree": {"branch": "-y"}, "repoId": repo["id"]}, 400, "bad_branch"),
        ({"worktree": {"branch": "feature/x"}, "repoId": repo["id"]}, 409, "branch_in_use"),
        ({"worktree": {"base": "main"}, "repoId": repo["id"]}, 400, "bad_request"),
    ):
        refused(await server.client.http.post("/api/sessions", json={"agent": "demo", **wrong}), status, code)
    assert (await server.client.get("/api/sessions"))["total"] == 1


async def test_a_refused_session_leaves_no_worktree(tmp_path: Path) -> None:
    """L3, T5: A refused session leaves neither a worktree nor a branch."""
    async with serving(tmp_path, max_sessions=1) as server:
        repo = await registered(server)
        top = at(repo["path"])
        base = {"repoId": repo["id"], "agent": "demo", "worktree": {"branch": "x"}}
        for more, status, code in (
            ({"agent": "nobody"}, 400, "unknown_agent"),
            ({"mcpServerIds": [NOBODY]}, 404, "mcp_server_not_found"),
            ({"initialPrompt": " "}, 400, "empty_prompt"),
            ({"contextFiles": ["missing.txt"], "idempotencyKey": "k"}, 400, "path_missing"),
        ):
            refused(await server.client.http.post("/api/sessions", json={**base, **more}), status, code)
            assert known_to_git(top) == []
            assert branches(top) == ["main"]
        good = {**base, "contextFiles": ["README.md"], "idempotencyKey": "k"}
        assert (await server.client.post("/api/sessions", good))["worktreeId"]
        error = await server.client.http.post("/api/sessions", json={**base, "worktree": {"branch": "y"}})
        refused(error, 429, "too_many_sessions")
        assert branches(top) == ["main", "x"]


async def test_a_session_is_removed_with_its_worktree(server: Running) -> None:
    """A1, W2: `worktree=remove` removes both, or neither if work would be lost; with `force`, that work is saved
    first."""
    repo = await registered(server)
    session = await opened(server, repo)
    path = f"/api/sessions/{session['id']}"
    tree = f"/api/worktrees/{session['worktreeId']}"
    refused(await server.client.http.delete(tree), 409, "worktree_in_use")
    refused(await server.client.http.delete(f"{tree}?force=true"), 409, "worktree_in_use")
    at(session["cwd"], "new.txt").write_text("x")
    error = refused(await server.client.http.delete(f"{path}?purge=true&worktree=remove"), 409, "worktree_dirty")
    assert [file["path"] for file in error["details"]["files"]] == ["new.txt"]
    assert (await server.client.get(path))["status"] == "active"
    gone = await server.client.call("DELETE", f"{path}?purge=true&worktree=remove&force=true")
    assert gone["id"] == session["id"]
    assert gone["worktree"]["recoveryRef"] == f"refs/bough/recovery/{session['worktreeId']}"
    assert not at(session["cwd"]).exists()
    refused(await server.client.http.get(path), 404)
    other = await opened(server, repo, "other")
    clean = await server.client.call("DELETE", f"/api/sessions/{other['id']}?purge=true&worktree=remove")
    assert (clean["worktree"]["id"], clean["worktree"]["recover"]) == (other["worktreeId"], None)
    plain = await server.client.session(repo["id"])
    refused(await server.client.http.delete(f"/api/sessions/{plain['id']}?worktree=remove"), 400, "no_worktree")
    ended = await server.client.call("DELETE", f"/api/sessions/{plain['id']}")
    assert (ended["status"], ended["worktree"]) == ("cancelled", None)


async def test_a_worktree_with_several_sessions(server: Running) -> None:
    """W2: A worktree is not removed while another active session uses it; a session cannot resume in a removed one."""
    repo = await registered(server)
    tree = await made(server.client, repo)
    here = {"worktreeId": tree["id"], "agent": "demo"}
    first = await server.client.post("/api/sessions", here)
    second = await server.client.post("/api/sessions", here)
    answer = await server.client.http.delete(f"/api/sessions/{first['id']}?worktree=remove")
    error = refused(answer, 409, "worktree_in_use")
    assert [session["id"] for session in error["details"]["sessions"]] == [second["id"]]
    assert (await server.client.get(f"/api/sessions/{first['id']}"))["status"] == "active"
    await server.client.call("DELETE", f"/api/sessions/{second['id']}")
    commit(at(tree["path"]), "a.txt")
    gone = await server.client.call("DELETE", f"/api/sessions/{first['id']}?worktree=remove&force=true")
    assert gone["worktree"]["removedAt"] is not None
    for path, body in (("resume", {}), ("prompt", {"text": "x", "resume": True})):
        refused(
            await server.client.http.post(f"/api/sessions/{first['id']}/{path}", json=body), 409, "worktree_removed"
        )
    refused(await server.client.http.post("/api/sessions", json=here), 409, "worktree_removed")
    await server.client.post(f"/api/worktrees/{tree['id']}/recover")
    task = await server.client.post(f"/api/sessions/{first['id']}/prompt", {"text": "[[say here]]", "resume": True})
    assert (await server.client.wait_task(task["taskId"]))["status"] == "completed"
