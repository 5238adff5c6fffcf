"""Tests the tools for worktrees, repos, boards and MCP servers."""

from __future__ import annotations

from tests.api.mcp.mcp_client import Mcp, opened
from tests.support.server import Running

NOBODY = "00000000-0000-7000-8000-000000000000"


async def test_worktrees(server: Running, mcp: Mcp) -> None:
    """5a, W1: Creates worktrees on a new or an existing branch, at a default or a given path, and lists them."""
    repo = await server.client.repo(server.repo())
    first = await mcp.call("agor_worktrees_create", repoId=repo["id"][-12:], branch="feature-auth")
    assert first["path"] == f"{repo['path']}/.worktrees/feature-auth"
    assert (first["repo_id"], first["branch"], first["name"]) == (repo["id"], "feature-auth", "feature-auth")
    base = await mcp.call(
        "agor_worktrees_create", repoId=repo["id"], branch="second", path="places/two", base="feature-auth"
    )
    assert (base["path"], base["base_ref"]) == (f"{repo['path']}/places/two", "feature-auth")
    listed = await mcp.call("agor_worktrees_list", repoId=repo["id"])
    assert [item["worktree_id"] for item in listed["data"]] == [base["worktree_id"], first["worktree_id"]]
    assert (listed["total"], listed["limit"], listed["offset"]) == (2, 50, 0)
    other = await server.client.repo(server.repo("other"))
    assert (await mcp.call("agor_worktrees_list", repoId=other["id"]))["data"] == []
    assert "agor_repos_list" in await mcp.refused("agor_worktrees_list", "repo_not_found", repoId=NOBODY)


async def test_existing_branches_and_paths(server: Running, mcp: Mcp) -> None:
    """W1: Uses an existing branch; refuses an existing path, and a folder that is not a git repository."""
    repo = await server.client.repo(server.repo())
    created = await mcp.call("agor_worktrees_create", repoId=repo["id"], branch="known")
    await server.client.call("DELETE", f"/api/worktrees/{created['worktree_id']}?branch=keep")
    again = await mcp.call("agor_worktrees_create", repoId=repo["id"], branch="known")
    assert again["branch"] == "known"
    existing_folder = server.root / "repo" / "taken"
    existing_folder.mkdir()
    (existing_folder / "mine.txt").write_text("mine")
    text = await mcp.refused("agor_worktrees_create", "path_exists", repoId=repo["id"], branch="new", path="taken")
    assert "taken" in text
    assert [path.name for path in existing_folder.iterdir()] == ["mine.txt"]
    plain = server.root / "plain"
    plain.mkdir()
    folder = await server.client.repo(plain)
    await mcp.refused("agor_worktrees_create", "repo_is_plain", repoId=folder["id"], branch="new")


async def test_a_worktree(server: Running, mcp: Mcp) -> None:
    """5a: Returns a worktree with its state and sessions; its notes and its place on a board can be changed."""
    session = await opened(server)
    created = await mcp.call("agor_worktrees_create", repoId=session["repoId"], branch="side")
    inside = await mcp.call("agor_sessions_create", worktreeId=created["worktree_id"], agenticTool="demo")
    worktree_row = await mcp.call("agor_worktrees_get", worktreeId=created["worktree_id"][-12:])
    assert worktree_row["sessions"] == [inside["session_id"]]
    assert worktree_row["git"]["dirty"] is False
    (board,) = (await mcp.call("agor_boards_list"))["data"]
    assert board["is_default"] is True
    changed = await mcp.call(
        "agor_worktrees_update",
        worktreeId=created["worktree_id"],
        boardId=board["board_id"][-12:],
        x=10,
        y=20.5,
        notes="Auth.",
    )
    assert (changed["board_id"], changed["x"], changed["y"]) == (board["board_id"], 10, 20.5)
    changed = await mcp.call("agor_worktrees_update", worktreeId=created["worktree_id"], notes="Auth, done.")
    assert (changed["notes"], changed["x"]) == ("Auth, done.", 10)
    text = await mcp.refused("agor_worktrees_update", "nothing_to_change", worktreeId=created["worktree_id"])
    assert "boardId, x, y, notes" in text
    wrong = {"worktreeId": created["worktree_id"], "boardId": NOBODY}
    assert "agor_boards_list" in await mcp.refused("agor_worktrees_update", "board_not_found", **wrong)


async def test_repositories_and_servers(server: Running, mcp: Mcp) -> None:
    """5a: Lists repositories and MCP servers page by page, without secrets."""
    repos = [await server.client.repo(server.repo(name)) for name in ("one", "two")]
    listed = await mcp.call("agor_repos_list", limit=1)
    assert (listed["total"], listed["limit"], len(listed["data"])) == (2, 1, 1)
    listed = await mcp.call("agor_repos_list")
    assert {item["repo_id"]: item["path"] for item in listed["data"]} == {repo["id"]: repo["path"] for repo in repos}
    server_row = await server.client.post(
        "/api/mcp-servers",
        {"name": "files", "transport": "stdio", "command": "/bin/true", "env": {"KEY": "secret-value"}},
    )
    listed = await mcp.call("agor_mcp_servers_list")
    assert listed["data"] == [
        {"mcp_server_id": server_row["id"], "name": "files", "transport": "stdio", "enabled": True},
    ]
