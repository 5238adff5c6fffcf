"""Agents that change their mode in the middle of a turn: what nobody has allowed is taken back at once. Modes that
people change are `test_settings_changes`."""

from __future__ import annotations

from pathlib import Path

from tests.core.helpers import messages, misbehaving, open_session
from tests.support.server import serving

MODES = '[modes]\nplan = "plan"\ndefault = "default"\nbypassPermissions = "yolo"\n'


async def test_a_mode_that_nobody_allowed_is_taken_back(tmp_path: Path) -> None:
    """P2: an agent that gives itself more rights loses them within the turn, and people are told."""
    misbehaving(tmp_path, "switches_mode")
    with (tmp_path / "data" / "agents" / "switches_mode.toml").open("a") as entry:
        entry.write(MODES)
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="switches_mode", permissionMode="plan")
        async with client.events(session) as events:
            assert (await client.ask(session, "yolo wait"))["status"] == "completed"
            event = await events.until(lambda event: event["type"].startswith("message.") and "itself" in str(event))
        assert "'yolo' by itself and was brought back" in str(event["data"])
        assert "".join(await client.texts(session)).split()[-1] == "plan"
        assert (await client.get(f"/api/sessions/{session}"))["permissionMode"] == "plan"


async def test_a_mode_that_grants_less_is_left_until_the_next_prompt(tmp_path: Path) -> None:
    """P2: nothing is taken by force from an agent that is more careful than it must be."""
    misbehaving(tmp_path, "switches_mode")
    with (tmp_path / "data" / "agents" / "switches_mode.toml").open("a") as entry:
        entry.write(MODES)
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="switches_mode", permissionMode="bypassPermissions")
        for mode in ("plan", "yolo"):
            assert (await server.client.ask(session, mode))["status"] == "completed"
        # Brought into it before each prompt, and never in between.
        assert "".join(await server.client.texts(session)).split() == ["yolo", "yolo"]
        assert await messages(server.client, session, "notice") == []
