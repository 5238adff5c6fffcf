"""Tests prompts that are on their way into a turn which a limit ends, and clocks of limits that no turn waits for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.helpers import open_session
from tests.core.turns.test_parked_turns import HOUR, folder_of, limited, parked
from tests.core.turns.test_steering import shown, steered_agent, working
from tests.support.server import Running, serving


@pytest.mark.parametrize(
    ("text", "stop_reason", "heard"),
    [
        ("limit", "steered", []),
        ("limit, too late", "end_turn", ["prompt: limit, too late"]),
    ],
)
async def test_a_limit_ends_the_turn_first(tmp_path: Path, text: str, stop_reason: str, heard: list[str]) -> None:
    """Q6, Q8: If a limit ends the turn before the agent has answered about a prompt for it, the prompt still reaches
    the agent exactly once: the continued turn repeats one that it has taken, any other is the first of the queue."""
    steered_agent(tmp_path, tmp_path / "heard")
    with (tmp_path / "data/agents/steered.toml").open("a", encoding="utf-8") as file:
        file.write("[limits]\ncodes = [429]\nresets = ['in (?P<duration>[0-9][0-9a-z]*)']\n")
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="steered")
        turn = await working(client, session)
        behind = await client.prompt(session, "behind")
        task = await client.prompt(session, text, when="now")
        await parked(client, turn)
        status = "completed" if stop_reason == "steered" else "queued"
        assert (await client.get(f"/api/tasks/{task}"))["status"] == status
        await client.post(f"/api/sessions/{session}/resume")
        for waiting in (turn, task, behind):
            assert (await client.wait_task(waiting))["status"] == "completed"
        assert (await client.get(f"/api/tasks/{task}"))["stopReason"] == stop_reason
        continued = "prompt: You were interrupted while working on th"
        first = ["prompt: work", f"steering: {text}", continued]
        assert (tmp_path / "heard").read_text().splitlines() == [*first, *heard, "prompt: behind"]
        assert [words for role, words in await shown(client, session) if role == "user"] == ["work", text, "behind"]


async def test_a_limit_that_no_turn_waits_for_holds_nobody(tmp_path: Path) -> None:
    """Q6: Once the parked turns are cancelled, the next prompt is tried at once: it does not wait in silence for hours,
    for a limit that may be over, with another login for example."""
    limited(tmp_path)
    async with serving(tmp_path) as server:
        client = server.client
        sessions, tasks = await two_parked(server)
        behind = await client.prompt(sessions[2], "two")
        assert (await client.get(f"/api/tasks/{behind}"))["status"] == "queued"
        for task in tasks:
            await client.call("DELETE", f"/api/tasks/{task}")
        assert (await client.wait_task(behind))["status"] == "completed"
        again = await client.prompt(sessions[0], "three")
        assert (await parked(client, again))["tries"] == 0


async def test_a_person_can_have_a_waiting_session_tried(tmp_path: Path) -> None:
    """Q6: A person who resumes a session whose prompts wait for a limit that other sessions met has the account tried
    at once."""
    limited(tmp_path)
    async with serving(tmp_path) as server:
        client = server.client
        sessions, tasks = await two_parked(server)
        behind = await client.prompt(sessions[2], "two")
        for session in sessions[:2]:
            (await folder_of(client, session) / "limit").unlink()
        await client.post(f"/api/sessions/{sessions[2]}/resume")
        for task in (behind, *tasks):
            assert (await client.wait_task(task))["status"] == "completed"


async def two_parked(server: Running) -> tuple[list[str], list[str]]:
    """Returns three sessions, and the parked tasks of the first two."""
    client = server.client
    sessions = [await open_session(server, agent="limited") for _ in range(3)]
    tasks: list[str] = []
    for session in sessions[:2]:
        (await folder_of(client, session) / "limit").write_text(HOUR)
        tasks.append(await client.prompt(session, "one"))
        await parked(client, tasks[-1])
    return sessions, tasks
