"""Tests `bough session calls`, and `bough approval` for calls of Bough's own tools."""

from __future__ import annotations

import json
from typing import Any

from tests.api.cli.cli_program import Cli
from tests.support.server import Running

SPAWN = "agor_sessions_spawn"


async def test_a_call_is_shown_changed_and_listed(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """L4: Shows the tool and its arguments; a person can allow the call with other arguments, and the journal records
    it."""
    assert "No calls" in (await cli("session", "calls", session["id"])).out
    arguments = {"prompt": "line one\nline two", "title": "kid", "enableCallback": False}
    task = await server.client.prompt(session["id"], f"[[mcp {SPAWN} {json.dumps(arguments)}]]")
    approval = (await server.client.approval(session["id"]))["id"]
    assert "Spawn a child with demo" in (await cli("approval", "list")).out
    shown = (await cli("approval", "show", approval)).out
    for line in (SPAWN, "  prompt:", "    line one", "    line two", "  title: kid", "  enableCallback: false"):
        assert line in shown.splitlines(), shown
    for wrong in ("{", "[1]", "1"):
        assert (await cli("approval", "allow", approval, "--arguments", wrong)).code == 2
    refused = await cli("approval", "allow", approval, "--arguments", '{"odd": 1}')
    assert refused.code == 1 and "(bad_arguments)" in refused.err
    changed = json.dumps({"prompt": "hello", "title": "other", "enableCallback": False})
    allowed = await cli("approval", "allow", approval, "--arguments", changed)
    assert allowed.code == 0 and "is allowed" in allowed.out
    await server.client.wait_task(task)
    head, row = (await cli("session", "calls", session["id"])).out.splitlines()
    assert head.split() == ["ID", "TOOL", "STATE", "APPROVAL", "CALLED", "WHAT"]
    assert SPAWN in row and " done " in row and approval[-8:] in row and "Spawn a" in row
    page = json.loads((await cli("session", "calls", session["id"], "--json")).out)
    assert page == await server.client.get(f"/api/sessions/{session['id']}/calls?limit=20")
    assert page["calls"][0]["arguments"] == json.loads(changed)
    [child] = (await server.client.get(f"/api/sessions?parentId={session['id']}"))["sessions"]
    assert child["title"] == "other"
