"""Attacks of operators on the sandbox: with variables, MCP servers and folders that would lead out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.worktrees.records import NewWorktree
from bough.errors import Denied
from bough.model.session import Caller
from tests.api.acp.editor_client import editing
from tests.api.error_responses import refused
from tests.support.acp.acp_driver import Refused
from tests.support.client import Json
from tests.support.people import as_user
from tests.support.repos import git, make_repo
from tests.support.server import Running, serving

ESCAPES = (
    "LD_PRELOAD",
    "LD_AUDIT",
    "GLIBC_TUNABLES",
    "HOME",
    "TMPDIR",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "XDG_CONFIG_HOME",
)


@pytest.mark.parametrize("name", ESCAPES)
async def test_an_operators_variables_do_not_open_the_box(server: Running, name: str) -> None:
    """L1: A variable that decides what the sandbox's own program loads, or which folders are writable inside, needs an
    admin, however it is set."""
    repo = await server.client.repo(server.repo())
    env = {name: str(server.root)}
    async with as_user(server, "otto", "operator") as operator:
        session = await operator.client.session(repo["id"], env={"FOO": "1"})
        for method, path, body in (
            ("POST", "/api/sessions", {"repoId": repo["id"], "agent": "demo", "env": env}),
            ("PATCH", f"/api/sessions/{session['id']}", {"env": env}),
            ("POST", f"/api/sessions/{session['id']}/fork", {"env": env}),
            ("POST", f"/api/sessions/{session['id']}/spawn", {"prompt": "x", "env": env}),
        ):
            refused(await operator.client.http.request(method, path, json=body), 403, "role_too_low")
    assert (await server.client.session(repo["id"], env=env))["env"] == {name: "***"}


async def test_an_operator_attaches_no_server_to_a_strict_box(server: Running) -> None:
    """S6: A strict sandbox opens the hosts of its MCP servers, so an operator attaches only those that it reaches
    anyway."""
    client = server.client
    repo = await client.repo(server.repo())
    choice: Json = {"sandboxProfile": "strict", "sandboxHosts": ["tools.example.com"]}
    await client.call("PATCH", f"/api/repos/{repo['id']}", json=choice)
    inner, open_one = [
        await client.post("/api/mcp-servers", {"name": name, "transport": "http", "url": url})
        for name, url in (("inner", "http://10.0.0.1:8080/mcp"), ("open", "https://tools.example.com/mcp"))
    ]
    inside: Json = {"type": "http", "name": "inner", "url": "http://10.0.0.1:8080/mcp", "headers": []}
    async with as_user(server, "otto", "operator") as operator:
        session = await operator.client.session(repo["id"], mcpServerIds=[open_one["id"]])
        body: Json = {"mcpServerIds": [inner["id"]]}
        for method, path, request in (
            ("POST", "/api/sessions", {"repoId": repo["id"], "agent": "demo", **body}),
            ("PATCH", f"/api/sessions/{session['id']}", body),
            ("POST", f"/api/sessions/{session['id']}/fork", body),
            ("POST", f"/api/sessions/{session['id']}/spawn", {"prompt": "x", **body}),
        ):
            refused(await operator.client.http.request(method, path, json=request), 403, "role_too_low")
        async with editing(operator) as editor:
            with pytest.raises(Refused, match="strict sandbox"):
                await editor.request(
                    "session/load", {"sessionId": session["id"], "cwd": session["cwd"], "mcpServers": [inside]}
                )
        await client.call("PATCH", f"/api/sessions/{session['id']}", json=body)
        # What an admin has attached stays, also in forks.
        await operator.client.post(f"/api/sessions/{session['id']}/fork", {})
        await operator.client.call("PATCH", f"/api/sessions/{session['id']}", json=body)


async def test_an_operator_works_in_no_folder_of_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L1: The home folder and its hidden folders hold what programs outside the sandbox run, so a session there needs
    an admin."""
    home = tmp_path / "home"
    make_repo(home / ".config" / "autostart")
    make_repo(home / "project")
    monkeypatch.setenv("HOME", str(home))
    async with serving(tmp_path, workspace_root=str(home)) as server, as_user(server, "otto", "operator") as operator:
        await operator.client.session((await operator.client.repo(home / "project"))["id"])
        repo = await operator.client.repo(home / ".config" / "autostart")
        answer = await operator.client.http.post("/api/sessions", json={"repoId": repo["id"], "agent": "demo"})
        refused(answer, 403, "role_too_low")
        await server.client.session(repo["id"])


PLACES = ("~/.claude/skills/x", "~/.config/autostart", "~/bin", "link/x")


@pytest.mark.parametrize("path", PLACES)
async def test_no_worktree_becomes_settings_of_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """L1, W3: Bough's own git writes a worktree, outside of every sandbox: agents and operators cannot have it written
    where programs look for settings or commands, not even through a link."""
    home = tmp_path / "home"
    make_repo(home / "code")
    (home / ".config").mkdir()
    (home / "code" / "link").symlink_to(home / ".config")
    monkeypatch.setenv("HOME", str(home))
    async with serving(tmp_path, workspace_root=str(home)) as server, as_user(server, "otto", "operator") as operator:
        repo = await server.client.repo(home / "code")
        session = await operator.client.session(repo["id"])
        worktree = {"branch": "evil", "path": path}
        for url, body in (
            ("/api/worktrees", {"repoId": repo["id"], **worktree}),
            ("/api/sessions", {"repoId": repo["id"], "agent": "demo", "worktree": worktree}),
            (f"/api/sessions/{session['id']}/fork", {"worktree": worktree}),
            (f"/api/sessions/{session['id']}/spawn", {"prompt": "x", "worktree": worktree}),
        ):
            refused(await operator.client.http.post(url, json=body), 403, "role_too_low")
        agent = Caller("session", session["id"])
        with pytest.raises(Denied, match="Only a person"):
            await server.services.worktrees.create(agent, NewWorktree(repo["id"], "evil", path))
        assert git(home / "code", "worktree", "list").count("\n") == 1
        made = await server.client.post("/api/worktrees", {"repoId": repo["id"], **worktree, "wait": True})
        assert made["status"] == "ready"


async def test_a_worktree_in_its_usual_place_needs_no_admin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W1: A repo in a hidden folder, or the home folder itself, keeps its worktrees in `.worktrees`; a link there leads
    nowhere else."""
    home = tmp_path / "home"
    make_repo(home / ".dotfiles")
    monkeypatch.setenv("HOME", str(home))
    async with serving(tmp_path, workspace_root=str(home)) as server, as_user(server, "otto", "operator") as operator:
        repo = await server.client.repo(home / ".dotfiles")
        made = await operator.client.post("/api/worktrees", {"repoId": repo["id"], "branch": "fine", "wait": True})
        assert made["status"] == "ready"
        other = await server.client.repo(make_repo(home / "code"))
        (home / "code" / ".worktrees").symlink_to(home / ".config")
        (home / ".config").mkdir(exist_ok=True)
        body = {"repoId": other["id"], "branch": "evil"}
        refused(await operator.client.http.post("/api/worktrees", json=body), 403, "role_too_low")
        assert list((home / ".config").iterdir()) == []
