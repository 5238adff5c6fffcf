"""Tests the five basic tools."""

from __future__ import annotations

from bough.storage.queries import Query
from tests.api.mcp.mcp_client import Mcp, agent_of, opened, person
from tests.support.repos import git
from tests.support.server import Running, serving

DISGUISE = Query(
    "disguise", "UPDATE sessions SET agent = 'claude-code', updated_at = :now WHERE id = :id", "Another agent."
)
NOBODY = "00000000-0000-7000-8000-000000000000"


async def test_create_session(server: Running, mcp: Mcp) -> None:
    """5b: Creates a session in a folder, registers the folder if needed, and answers with sessionId and workingDir
    only."""
    path = server.repo()
    created = await mcp.call("create_session", name="feature", workingDir=str(path))
    assert created.keys() == {"sessionId", "workingDir"}
    assert created["workingDir"] == str(path)
    session = await server.client.get(f"/api/sessions/{created['sessionId']}")
    assert (session["title"], session["permissionMode"], session["worktreeId"]) == ("feature", "default", None)
    status = await mcp.call("get_session_status", sessionId=created["sessionId"])
    assert status["exists"] is True
    assert (status["status"], status["lifecycle"], status["pendingMessages"]) == ("not_started", "active", 0)
    assert status["workingDir"] == str(path)
    assert status["lastActivity"].endswith("Z")


async def test_create_session_in_a_worktree(server: Running, mcp: Mcp) -> None:
    """5b, W1, Q2: Creates a worktree with a new branch at the default path, and starts the first message by itself."""
    path = server.repo()
    arguments = {"name": "auth", "workingDir": str(path), "agent": "demo", "permissionMode": "acceptEdits"}
    created = await mcp.call(
        "create_session", **arguments, worktree={"branch": "feature-auth"}, initialMessage="[[say begun]]"
    )
    assert created["workingDir"] == f"{path}/.worktrees/feature-auth"
    await mcp.call("agor_sessions_wait", sessionIds=[created["sessionId"]])
    assert await server.client.texts(created["sessionId"]) == ["begun"]
    session = await server.client.get(f"/api/sessions/{created['sessionId']}")
    assert (session["permissionMode"], session["agent"]) == ("acceptEdits", "demo")


async def test_existing_branches_and_paths(server: Running, mcp: Mcp) -> None:
    """5b, W1: Uses an existing branch; an existing path is an error and is left alone."""
    path = server.repo()
    git(path, "branch", "known")
    git(path, "commit", "--allow-empty", "-m", "later")
    arguments = {"name": "auth", "workingDir": str(path), "agent": "demo"}
    created = await mcp.call("create_session", **arguments, worktree={"branch": "known", "path": "two"})
    assert created["workingDir"] == f"{path}/two"
    assert git(path / "two", "rev-parse", "HEAD") == git(path, "rev-parse", "main~1")
    before = sorted(item.name for item in (path / "two").iterdir())
    text = await mcp.refused("create_session", "path_exists", **arguments, worktree={"branch": "other", "path": "two"})
    assert f"{path}/two" in text
    assert sorted(item.name for item in (path / "two").iterdir()) == before
    assert (await mcp.call("list_sessions"))["sessions"][0]["id"] == created["sessionId"]


async def test_a_folder_without_git(server: Running, mcp: Mcp) -> None:
    """5b, W1: Refuses a worktree outside of git; a plain session is fine."""
    plain = server.root / "plain"
    plain.mkdir()
    arguments = {"name": "notes", "workingDir": str(plain), "agent": "demo"}
    text = await mcp.refused("create_session", "repo_is_plain", **arguments, worktree={"branch": "b"})
    assert "sessions can work in the folder itself" in text
    created = await mcp.call("create_session", **arguments)
    assert created["workingDir"] == str(plain)


async def test_a_folder_inside_a_worktree(server: Running) -> None:
    """5b, R4b: A folder deep inside a worktree or repo is used exactly; its worktree is known."""
    session = await opened(server)
    created = await server.client.post("/api/worktrees", {"repoId": session["repoId"], "branch": "side"})
    agent = await agent_of(server, session)
    deep = f"{created['path']}/src"
    (server.root / "repo" / ".worktrees" / "side" / "src").mkdir()
    new = await agent.call("create_session", name="beside", workingDir=deep)
    assert new["workingDir"] == deep
    opened_there = await server.client.get(f"/api/sessions/{new['sessionId']}")
    # Without an agent, the caller's own is used.
    assert (opened_there["worktreeId"], opened_there["agent"]) == (created["id"], "demo")
    new = await agent.call("create_session", name="apart", workingDir=created["path"], worktree={"branch": "third"})
    assert new["workingDir"] == f"{session['cwd']}/.worktrees/third"
    (server.root / "repo" / "inner").mkdir()
    new = await agent.call("create_session", name="inner", workingDir=f"{session['cwd']}/inner/")
    assert new["workingDir"] == f"{session['cwd']}/inner"
    forked = await server.client.post(f"/api/sessions/{new['sessionId']}/fork", {"worktree": "new"})
    # Git knows no empty folders.
    assert (await server.client.get(f"/api/sessions/{forked['sessionId']}"))["cwd"].endswith("/inner") is False
    (server.root / "repo" / "inner" / "file").write_text("x", "utf-8")
    forked = await server.client.post(f"/api/sessions/{new['sessionId']}/fork", {"worktree": "new"})
    assert (await server.client.get(f"/api/sessions/{forked['sessionId']}"))["cwd"].endswith("/inner")


async def test_folders_beyond_reach(server: Running, mcp: Mcp) -> None:
    """5b, W3: Refuses folders outside the root, missing ones, and ones that a session may not use, and says what to
    do."""
    arguments = {"name": "x", "agent": "demo"}
    assert "absolute" in await mcp.refused("create_session", "path_not_absolute", **arguments, workingDir="here")
    await mcp.refused("create_session", "path_missing", **arguments, workingDir=str(server.root / "nowhere"))
    await mcp.refused("create_session", "path_outside_root", **arguments, workingDir="/usr")
    session = await opened(server)
    agent = await agent_of(server, session)
    # A session is refused at once what no person could allow it.
    plain = server.root / "plain"
    plain.mkdir()
    text = await agent.refused(
        "create_session", "repo_is_plain", **arguments, workingDir=str(plain), worktree={"branch": "b"}
    )
    assert "git init" in text
    await agent.refused("create_session", "path_outside_root", **arguments, workingDir="/usr")
    await agent.refused(
        "create_session", "folder_unconfirmed", **arguments, workingDir=str(server.repo("other") / ".git")
    )


async def test_send_to_session(server: Running, mcp: Mcp) -> None:
    """5b, Q1, T2: A message runs at once or is queued, and resumes an ended session."""
    session = await opened(server)
    hangs = await server.client.prompt(session["id"], "[[hang]]")
    await server.client.wait_task(hangs, "running")
    assert (await mcp.call("send_to_session", sessionId=session["id"][-12:], message="[[say two]]"))["success"] is True
    status = await mcp.call("get_session_status", sessionId=session["id"][-12:])
    assert (status["status"], status["pendingMessages"]) == ("thinking", 1)
    await server.client.post(f"/api/sessions/{session['id']}/complete", {"force": True})
    status = await mcp.call("get_session_status", sessionId=session["id"])
    assert (status["exists"], status["status"], status["lifecycle"]) == (True, "idle", "completed")
    assert (await mcp.call("send_to_session", sessionId=session["id"], message="[[say three]]"))["success"] is True
    await mcp.call("agor_sessions_wait", sessionIds=[session["id"]])
    assert (await server.client.texts(session["id"]))[-1] == "three"


async def test_messages_that_cannot_be_sent(server: Running) -> None:
    """5b, Q1: For an unknown session, a full queue or an empty message, success is false and the error says what to
    do."""
    async with serving(server.root / "small", max_queue=1) as small:
        mcp = person(small)
        session = await opened(small)
        await small.client.wait_task(await small.client.prompt(session["id"], "[[hang]]"), "running")
        await mcp.call("send_to_session", sessionId=session["id"], message="one")
        for arguments, hint in (
            ({"sessionId": session["id"], "message": "two"}, "which is the limit"),
            ({"sessionId": NOBODY, "message": "two"}, "agor_sessions_list"),
            ({"sessionId": session["id"], "message": " "}, "Say what the agent should do"),
        ):
            result = await mcp.raw("send_to_session", arguments)
            assert result["isError"] is True
            assert result["structuredContent"].keys() == {"success", "error"}
            assert result["structuredContent"]["success"] is False
            assert hint in result["structuredContent"]["error"]


async def test_status_words(server: Running, mcp: Mcp) -> None:
    """5b, T1: Reports not_started, idle, thinking, waiting_permission and error, and that an unknown session does not
    exist."""
    session = await opened(server, mode="default")

    async def status() -> str:
        return (await mcp.call("get_session_status", sessionId=session["id"]))["status"]

    assert await status() == "idle"
    task_id = await server.client.prompt(session["id"], "[[run echo hi]]")
    approval = await server.client.approval(session["id"])
    assert await status() == "waiting_permission"
    await server.client.post(f"/api/approvals/{approval['id']}", {"decision": "deny"})
    await server.client.wait_task(task_id)
    await mcp.call("agor_sessions_update", sessionId=session["id"], status="failed")
    answer = await mcp.call("get_session_status", sessionId=session["id"])
    assert (answer["status"], answer["lifecycle"]) == ("error", "error")
    for unknown in (NOBODY, "nonsense"):
        answer = await mcp.call("get_session_status", sessionId=unknown)
        assert (answer["exists"], answer["status"], answer["workingDir"]) == (False, "not_started", "")
        assert "list_sessions" in answer["error"]


async def test_list_sessions(server: Running, mcp: Mcp) -> None:
    """5b: Lists id, name, workingDir, type and status of every session, newest first; claude-code is called claude."""
    first = await opened(server, title="one")
    await server.client.wait_task(await server.client.prompt(first["id"], "[[hang]]"), "running")
    repo = await server.client.repo(server.repo("other"))
    second = await server.client.session(repo["id"], agent="terminal", title="shell")
    third = await server.client.session(repo["id"], title="claude")
    # An agent need not be installed to be listed.
    await server.services.store.write(lambda change: change.tx.run(DISGUISE, id=third["id"], now=change.now))
    assert await mcp.call("list_sessions") == {
        "sessions": [
            {"id": third["id"], "name": "claude", "workingDir": repo["path"], "type": "claude", "status": "idle"},
            {"id": second["id"], "name": "shell", "workingDir": repo["path"], "type": "terminal", "status": "idle"},
            {"id": first["id"], "name": "one", "workingDir": first["cwd"], "type": "demo", "status": "active"},
        ],
        "total": 3,
    }
    page = await mcp.call("list_sessions", limit=1, offset=1)
    assert ([row["id"] for row in page["sessions"]], page["total"]) == ([second["id"]], 3)
