"""Tests the sandbox's options of `bough session` and `bough repo`, and what they show."""

from __future__ import annotations

import json

from tests.api.cli.cli_program import Cli
from tests.support.server import Running


async def test_a_repo_s_sandbox(server: Running, cli: Cli) -> None:
    """S6, L4: A repo's profile and hosts can be set, shown and removed; what is no host is refused."""
    repo = await server.client.repo(server.repo())
    options = ("--sandbox-profile", "strict", "--sandbox-host", "API.example.com", "--sandbox-host", "localhost:11434")
    changed = await cli("repo", "set", repo["id"], *options)
    assert "strict" in changed.out and "api.example.com, localhost:11434" in changed.out
    stored = json.loads((await cli("repo", "show", repo["id"], "--json")).out)
    assert (stored["sandboxProfile"], stored["sandboxHosts"]) == ("strict", ["api.example.com", "localhost:11434"])
    refused = await cli("repo", "set", repo["id"], "--sandbox-host", "*")
    assert refused.code == 1 and "bad_host_pattern" in refused.err
    cleared = await cli("repo", "set", repo["id"], "--sandbox-profile", "inherit", "--no-sandbox-host", "--json")
    assert (json.loads(cleared.out)["sandboxProfile"], json.loads(cleared.out)["sandboxHosts"]) == (None, [])


async def test_a_session_s_profile(server: Running, cli: Cli) -> None:
    """S6, L4: A session's profile can be chosen, shown, changed and left to the repo."""
    repo = await server.client.repo(server.repo())
    session = (await server.client.session(repo["id"], sandboxProfile="strict"))["id"]
    assert "not started yet (profile strict)" in (await cli("session", "show", session)).out
    changed = await cli("session", "set", session, "--sandbox", "required", "--sandbox-profile", "workspace", "--json")
    assert json.loads(changed.out)["sandboxProfile"] == "workspace"
    assert "(sandbox required, profile workspace)" in (await cli("session", "show", session)).out
    cleared = await cli("session", "set", session, "--sandbox-profile", "inherit", "--json")
    assert json.loads(cleared.out)["sandboxProfile"] is None
