"""Tests `bough search`, for people and as JSON."""

from __future__ import annotations

import json
from typing import Any

from tests.api.cli.cli_program import Cli
from tests.support.server import Running


async def test_hits_are_listed(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """L4: Each hit has a line that says where it is and a line with the matching words, without control sequences."""
    assert "No results." in (await cli("search", "gannet")).out
    await server.client.ask(session["id"], "[[say a gannet\x1b[31m dives]]")
    lines = (await cli("search", "gannet", "dives", "--role", "agent")).out.splitlines()
    assert session["id"][-8:] in lines[0] and "agent text #" in lines[0] and "first" in lines[0]
    assert lines[1].startswith("  a gannet") and "\x1b" not in lines[1]
    filtered = await cli("search", "gannet", "--session", session["id"], "--repo", session["repoId"], "--agent", "demo")
    assert len(filtered.out.splitlines()) == 4
    assert "No results." in (await cli("search", "gannet", "--type", "thought")).out
    assert "No results." in (await cli("search", "gannet", "--since", "2999-01-01")).out
    assert "No results." in (await cli("search", "--", "gannet", "-dives")).out
    limited = await cli("search", "gannet", "--limit", "1")
    assert len(limited.out.splitlines()) == 2 and "1 of 2" in limited.err
    wrong = await cli("search", "gannet", "--role", "robot")
    assert wrong.code == 1 and "(bad_role)" in wrong.err
    assert (await cli("search")).code == 2


async def test_json_is_the_response_of_the_server(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """L4: --json prints the response unchanged."""
    await server.client.ask(session["id"], "[[say fulmar]]")
    page = json.loads((await cli("search", "ful*", "--json")).out)
    assert page == await server.client.get("/api/search?q=ful*&limit=20&offset=0")
    assert page["total"] == 2
