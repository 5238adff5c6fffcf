"""Q8: A real agent takes a prompt in the middle of its turn."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.real_agents.helpers.measurements_table import Record
from tests.real_agents.helpers.several_agents import playing, said_in
from tests.support.scripted_model.running import ScriptedModel


@pytest.mark.only("claude-code", "codex")
async def test_a_turn_is_steered(agent: str, model: ScriptedModel, place: Path, repo: Path, record: Record) -> None:
    """Q8: The prompt reaches the model in the running turn, whose answer it changes; the conversation has it once."""
    async with playing(agent, model=model, place=place, repo=repo) as real:
        session = await real.session(permissionMode="bypassPermissions")
        turn_id = await real.client.prompt(
            session, f"{real.actions.slow_shell(8, 'started')} {real.actions.say('not steered')}"
        )
        await real.client.eventually(lambda: _begun(repo / "started"))
        steered = await real.client.wait_task(await real.client.prompt(session, "[[say heard you]]", when="now"))
        assert (steered["status"], steered["stopReason"]) == ("completed", "steered"), steered
        turn = await real.client.wait_task(turn_id)
        assert (turn["status"], turn["attempt"]) == ("completed", 1), turn
        assert "heard you" in await said_in(real, turn)
        await real.client.ask(session, real.actions.recall())
        recalled = (await real.client.texts(session))[-1]
        assert recalled.count("[[say heard you]]") == 1, recalled
        record("prompt in a running turn", "taken")


async def _begun(mark: Path) -> bool | None:
    return await asyncio.to_thread(mark.exists) or None
