"""Tests deciding an approval that has several options."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.api.cli.cli_program import Cli
from tests.support.server import Running, serving

OPTIONS = [
    {"optionId": "red", "name": "The red one", "kind": "allow_once"},
    {"optionId": "blue", "name": "The blue one", "kind": "allow_once"},
    {"optionId": "no", "name": "Neither", "kind": "reject_once"},
]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Running]:
    """A server with an agent that asks for whatever its prompt says."""
    command = ["{python}", "-m", "tests.support.misbehaving_agents.requests_permission", str(tmp_path / "heard")]
    (tmp_path / "data" / "agents").mkdir(parents=True)
    (tmp_path / "data" / "agents" / "wants.toml").write_text(f'title = "Wants"\ncommand = {json.dumps(command)}\n')
    async with serving(tmp_path) as running:
        yield running


async def test_one_of_several_options_is_chosen(server: Running, cli: Cli, tmp_path: Path) -> None:
    """P4, P3: Shows the options; a person chooses one, and the agent is told which."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], agent="wants", permissionMode="allow-all")
    wish = {"call": {"title": "paint", "kind": "other"}, "options": OPTIONS}
    task = await client.prompt(session["id"], json.dumps(wish))
    question = (await client.approval(session["id"]))["id"]
    assert (
        "red (The red one), blue (The blue one); choose with --option" in (await cli("approval", "show", question)).out
    )
    simply = await cli("approval", "allow", question)
    assert simply.code == 1 and simply.err.endswith("(no_once_option)\n")
    assert (await cli("approval", "allow", question, "--option", "red", "--always")).code == 2
    assert "is allowed: paint" in (await cli("approval", "allow", question, "--option", "blue")).out
    assert (await client.wait_task(task))["status"] == "completed"
    assert json.loads((tmp_path / "heard").read_text().splitlines()[-1]) == {"answer": "blue"}
    assert "choose with" not in (await cli("approval", "show", question)).out
