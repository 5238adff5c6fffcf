"""Tests agents that do not accept their mode, and modes that change while an agent starts. `test_self_granted_rights`
tests agents that leave their mode and can be set back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.helpers import add_agent, messages, open_session
from tests.support.eventually import eventually
from tests.support.server import serving

PROGRAM = Path(__file__).with_name("agent_that_ignores_its_mode.py")
MODES = '[modes]\nplan = "plan"\ndefault = "default"\nbypassPermissions = "yolo"\n'


def add_mode_ignorer(folder: Path, how: str) -> Path:
    """Adds the agent to the catalog, and returns the file where it records its prompts."""
    received = folder / "heard.txt"
    add_agent(folder, how, ["{python}", str(PROGRAM), how, str(received)])
    with (folder / "data" / "agents" / f"{how}.toml").open("a") as entry:
        entry.write(MODES)
    return received


@pytest.mark.parametrize(("how", "sentence"), [("liar", "stays in 'yolo'"), ("modeless", "knows no modes")])
async def test_a_mode_that_is_not_accepted(tmp_path: Path, how: str, sentence: str) -> None:
    """P2: An agent that reports another mode when it is set, or has no modes, gets no prompt."""
    received = add_mode_ignorer(tmp_path, how)
    async with serving(tmp_path) as server:
        session = await open_session(server, agent=how, permissionMode="plan")
        task = await server.client.ask(session, "go")
        assert (task["status"], task["error"]["code"]) == ("failed", "mode_not_taken")
        assert sentence in task["error"]["message"]
        assert not received.exists()


async def test_an_agent_that_keeps_extra_rights_is_ended(tmp_path: Path) -> None:
    """P2: Ends an agent that gives itself more rights and refuses to return them, and notifies people."""
    add_mode_ignorer(tmp_path, "stubborn")
    async with serving(tmp_path, max_deaths=1) as server:
        session = await open_session(server, agent="stubborn", permissionMode="default")
        task = await server.client.ask(session, "go")
        assert task["status"] == "failed"

        async def is_told() -> bool | None:
            notices = await messages(server.client, session, "notice")
            return any("could not be reset" in item["text"] for item in notices) or None

        # The agent ends before the notice is stored.
        await server.client.eventually(is_told, "people are told")


async def test_a_mode_that_is_lowered_while_the_agent_starts(tmp_path: Path) -> None:
    """P2: A change before the prompt is sent applies to it."""
    received = add_mode_ignorer(tmp_path, "slow")
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="slow", permissionMode="bypassPermissions")
        task = await client.prompt(session, "go")
        await eventually(received.exists, "the agent starts")
        await client.call("PATCH", f"/api/sessions/{session}", json={"permissionMode": "plan"})
        received.with_suffix(".go").touch()
        assert (await client.wait_task(task))["status"] == "completed"
        assert received.read_text().splitlines() == ["starting", "prompted in plan"]


async def test_settings_that_change_while_the_agent_starts(tmp_path: Path) -> None:
    """P2, R2: Restarts an agent whose start settings have changed before it gets its prompt."""
    received = add_mode_ignorer(tmp_path, "slow")
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="slow", permissionMode="plan")
        task = await client.prompt(session, "go")
        await eventually(received.exists, "the agent starts")
        await client.call("PATCH", f"/api/sessions/{session}", json={"env": {"HERON": "grey"}})
        received.with_suffix(".go").touch()
        assert (await client.wait_task(task))["status"] == "completed"
        assert received.read_text().splitlines() == ["starting", "starting", "prompted in plan"]
