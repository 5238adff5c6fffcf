"""Tests agents whose permission requests cannot be parsed: they are refused or their turn fails, but nobody waits
forever. `test_unexpected_values` tests requests that are parsed but make no sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.helpers import add_agent, open_session
from tests.support.server import serving

PROGRAM = Path(__file__).with_name("agent_with_unreadable_requests.py")
ASKS = '"method":"session/request_permission","params":'
OPTIONS = '"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]'


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (f'{{"id":7,{ASKS}{{"toolCall":{{"title":"\\xff"}},{OPTIONS}}}}}', -32700),
        (f'{{"id":7,{ASKS}{{"toolCall":{{"title":"x"}},{OPTIONS}}}}}', -32602),
    ],
)
async def test_a_broken_request_with_an_id_is_refused(tmp_path: Path, line: str, code: int) -> None:
    """C1, P4: The agent gets an error for broken text or a call without an id, and decides how to continue."""
    add_agent(tmp_path, "unreadable", ["{python}", str(PROGRAM), line])
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="unreadable", permissionMode="allow-all")
        assert (await server.client.ask(session, "go"))["status"] == "completed"
        assert await server.client.texts(session) == [f"refused: {code}"]


async def test_a_broken_request_without_an_id_fails_the_turn(tmp_path: Path) -> None:
    """C1, P4: Without a readable id nobody can be answered, so the turn fails with that reason."""
    add_agent(tmp_path, "unreadable", ["{python}", str(PROGRAM), f'{{"id":7,{ASKS}{{'])
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="unreadable", permissionMode="allow-all")
        task = await server.client.ask(session, "go")
        assert (task["status"], task["error"]["code"]) == ("failed", "agent_protocol")
