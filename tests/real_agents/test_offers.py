"""H4: Real agents say what they offer before the first turn, without a prompt."""

from __future__ import annotations

import json
from typing import Any

from tests.real_agents.helpers.agent_under_test import Real
from tests.real_agents.helpers.measurements_table import Record
from tests.support.eventually import eventually


async def test_what_is_known_before_the_first_turn(real: Real, record: Record) -> None:
    """H4: A check starts the agent, sends no prompt, and knows its models and modes."""
    path = f"/api/agents/{real.agent}/offer"
    await real.client.post(path, {"force": True}, expect=202)

    async def answer() -> dict[str, Any] | None:
        offer: dict[str, Any] = await real.client.get(path)
        return None if offer["checking"] else offer

    offer = await eventually(answer, f"{real.agent} was asked", within=150)
    assert offer["error"] is None, offer["error"]
    assert (offer["source"], offer["current"]) == ("check", True)
    assert offer["modes"]
    fields = ("models", "efforts", "modes", "commands")
    record("known before the first turn", ", ".join(field for field in fields if offer[field]))


async def test_a_session_in_several_folders(real: Real, record: Record) -> None:
    """W6: An agent that takes further folders is told them; the transcript names one that takes none."""
    other = real.repo.parent / f"beside-{real.agent}"
    other.mkdir(exist_ok=True)
    session = await real.session(permissionMode="bypassPermissions", additionalDirectories=[str(other)])
    made = other / "made.txt"
    task = await real.ask(session, real.actions.write(str(made)))
    unaware = any("takes no further folders" in json.dumps(message) for message in await real.messages(session))
    outcome = "writes there" if made.exists() else f"does not write there ({task['status']})"
    record("further folders", f"{'not told, reported' if unaware else 'told'}; {outcome}")
    assert task["status"] in ("completed", "cancelled")
