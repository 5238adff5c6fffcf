"""Attacks of operators on the sandbox: with variables, MCP servers and folders that would lead out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.acp.editor_client import editing
from tests.api.error_responses import refused
from tests.support.acp_driver import Refused
from tests.support.client import Json
from tests.support.people import as_user
from tests.support.repos import make_repo
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
