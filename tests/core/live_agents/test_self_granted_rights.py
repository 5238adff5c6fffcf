"""Tests agents that change their mode during a turn: a mode that nobody allowed is set back at once.
`test_settings_changes` tests modes that people change."""

from __future__ import annotations

from pathlib import Path

from tests.core.helpers import messages, misbehaving, open_session
from tests.support.server import serving

MODES = '[modes]\nplan = "plan"\ndefault = "default"\nbypassPermissions = "yolo"\n'


async def test_a_mode_that_nobody_allowed_is_set_back(tmp_path: Path) -> None:
    """P2: An agent that gives itself more rights loses them within the turn, and people are notified."""
    misbehaving(tmp_path, "switches_mode")
    with (tmp_path / "data" / "agents" / "switches_mode.toml").open("a") as entry:
        entry.write(MODES)
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="switches_mode", permissionMode="plan")
        async with client.events(session) as events:
            assert (await client.ask(session, "yolo wait"))["status"] == "completed"
            event = await events.until(lambda event: event["type"].startswith("message.") and "itself" in str(event))
        assert "'yolo' by itself and was reset" in str(event["data"])
        assert "".join(await client.texts(session)).split()[-1] == "plan"
        assert (await client.get(f"/api/sessions/{session}"))["permissionMode"] == "plan"


async def test_a_stricter_mode_stays_until_the_next_prompt(tmp_path: Path) -> None:
    """P2: Does not change the mode of an agent that restricts itself during a turn."""
    misbehaving(tmp_path, "switches_mode")
    with (tmp_path / "data" / "agents" / "switches_mode.toml").open("a") as entry:
        entry.write(MODES)
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="switches_mode", permissionMode="bypassPermissions")
        for mode in ("plan", "yolo"):
            assert (await server.client.ask(session, mode))["status"] == "completed"
        # Its mode is set before each prompt, and never in between.
        assert "".join(await server.client.texts(session)).split() == ["yolo", "yolo"]
        assert await messages(server.client, session, "notice") == []
