"""Tests which agent processes are kept: not one with something dead inside, but one that could not be replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.live_agents import agent_settings
from tests.core.helpers import add_agent, ending_keepers, messages, open_session
from tests.support.server import serving

DIED = "The inner process exited unexpectedly. Please start a new session."


def add_dead_inside(folder: Path, words: str) -> Path:
    """Adds the agent that dies inside to the catalog, and returns the file where it records its prompts."""
    record = folder / "prompts"
    command = ["{python}", "-m", "tests.support.misbehaving_agents.bad_ends.dead_inside", str(record), words]
    add_agent(folder, "hollow", command, **{"quirks.broken": ["inner process exited"]})
    return record


@pytest.mark.parametrize("words", [DIED, ""])
async def test_a_turn_goes_on_in_a_new_process(tmp_path: Path, words: str) -> None:
    """O2, T3: If the agent's inner process dies, or it has lost the conversation, the turn continues as attempt 2 in a
    new process. Later prompts work."""
    record = add_dead_inside(tmp_path, words)
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="hollow")
        done = await client.wait_task(await client.prompt(session, "work"))
        assert (done["status"], done["attempt"]) == ("completed", 2)
        [error] = await messages(client, session, "error")
        assert error["code"] == "agent_gone"
        assert error["text"].startswith(f"hollow says: {words or 'Resource not found.'}")
        later = await client.wait_task(await client.prompt(session, "more"))
        assert (later["status"], later["attempt"]) == ("completed", 1)
    first, second, third = record.read_text().split()
    assert first != second == third


@pytest.mark.parametrize("words", ["Something else went wrong.", "mute"])
async def test_a_process_that_no_longer_answers_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    """T3: After an error that says nothing about the process, Bough asks whether the agent still answers. If it does
    not, the next prompt gets a new process."""
    monkeypatch.setattr(agent_settings, "PROBE_TIMEOUT", 0.5)
    record = add_dead_inside(tmp_path, words)
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="hollow")
        failed = await client.wait_task(await client.prompt(session, "work"))
        assert (failed["status"], failed["error"]["code"]) == ("failed", "agent_refused")
        assert failed["error"]["message"] == f"hollow says: {words}"
        later = await client.wait_task(await client.prompt(session, "more"))
        assert (later["status"], later["attempt"]) == ("completed", 1)
    first, second = record.read_text().split()
    assert first != second


async def test_an_idle_agent_that_cannot_be_resumed_outlives_the_server(tmp_path: Path) -> None:
    """L2: An orderly stop leaves an idle agent running if no other process could open its conversation; the next server
    continues with it."""
    record = add_dead_inside(tmp_path, DIED)
    record.touch()
    async with ending_keepers(tmp_path / "data"):
        async with serving(tmp_path, stop_agents=False) as server:
            session = await open_session(server, agent="hollow")
            await server.client.wait_task(await server.client.prompt(session, "one"))
        async with serving(tmp_path, stop_agents=False) as server:
            done = await server.client.wait_task(await server.client.prompt(session, "two"))
            assert (done["status"], done["attempt"]) == ("completed", 1)
    first, second = record.read_text().split()
    assert first == second
