"""Agents do not read the server's secrets from their environment."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bough.errors import Invalid
from bough.load_settings import load
from tests.api.server_processes import started
from tests.core.helpers import open_in
from tests.support.server import ServerProcess

SECRET = "server-secret-91c2"
ENV = {"DEPLOY_PASSWORD": SECRET, "AWS_SECRET_ACCESS_KEY": SECRET, "TZ": "Pacific/Auckland"}
NAMES = (
    "import os, sys; print([n for n in os.environ if n.endswith(('PASSWORD', 'KEY'))], file=sys.stderr); sys.exit(3)"
)


@pytest.mark.parametrize(("agent", "command"), [("demo", "[[run env]]"), ("terminal", "env")])
async def test_an_agent_does_not_inherit_secrets(tmp_path: Path, agent: str, command: str) -> None:
    """L2: Neither an agent nor its commands get variables that nobody named; the usual ones are there."""
    server = ServerProcess(tmp_path / "data", tmp_path / "work", env=ENV)
    async with started(server), server.client() as client:
        session = await open_in(server, client, agent=agent, permissionMode="bypassPermissions")
        await client.ask(session, command)
        transcript = str(await client.get(f"/api/sessions/{session}/messages"))
        assert "TZ=Pacific/Auckland" in transcript and "PATH=" in transcript
        assert SECRET not in transcript


async def test_a_person_adds_variables(tmp_path: Path) -> None:
    """L2: The setting `agent_env` adds names and patterns, for agents and for tests of MCP servers."""
    flags = ("--agent-env", "DEPLOY_*, OTHER")
    server = ServerProcess(tmp_path / "data", tmp_path / "work", flags, env=ENV)
    async with started(server), server.client() as client:
        session = await open_in(server, client, agent="terminal", permissionMode="bypassPermissions")
        await client.ask(session, "env")
        transcript = str(await client.get(f"/api/sessions/{session}/messages"))
        assert f"DEPLOY_PASSWORD={SECRET}" in transcript and "AWS_SECRET_ACCESS_KEY" not in transcript
        new = {"name": "loud", "transport": "stdio", "command": sys.executable, "args": ["-c", NAMES]}
        added = await client.post("/api/mcp-servers", new)
        outcome = await client.post(f"/api/mcp-servers/{added['id']}/test")
        assert "DEPLOY_PASSWORD" in outcome["error"] and "AWS_SECRET_ACCESS_KEY" not in outcome["error"]


def test_a_value_in_the_setting_is_refused(tmp_path: Path) -> None:
    """R1: The setting takes names only, so that no value ends up in a settings file."""
    with pytest.raises(Invalid, match="names of variables, without values"):
        load({"data": str(tmp_path), "agent_env": "KEY=value"}, {})
    assert load({"data": str(tmp_path), "agent_env": "A_*, B"}, {}).agent_env_names == ["A_*", "B"]
