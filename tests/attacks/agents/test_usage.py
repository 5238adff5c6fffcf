"""Numbers that a hostile agent reports: they neither give back what others have used nor break the books."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.state.task_ended import MOST_COST, MOST_TOKENS
from tests.attacks.agents.hostile import hostile, line, update


@pytest.mark.parametrize(
    ("number", "tokens", "spent"),
    [
        ("-1000000", 0, 0),
        ("9223372036854775807", MOST_TOKENS, MOST_COST),
        ("1" + "0" * 40, MOST_TOKENS, MOST_COST),
        ("-1" + "0" * 40, 0, 0),
    ],
)
async def test_tokens_and_cost(tmp_path: Path, number: str, tokens: int, spent: int) -> None:
    """B5: What a tree has used only grows, whatever its agents report, and every turn ends."""
    cost = update(sessionUpdate="usage_update", used=1, size=2, cost={"amount": int(number), "currency": "USD"})
    usage = f'"usage":{{"totalTokens":{number},"inputTokens":{number},"outputTokens":{number}}}'
    end = line(f'{{"jsonrpc":"2.0","id":{{prompt}},"result":{{"stopReason":"end_turn",{usage}}}}}')
    async with hostile(tmp_path, cost, end) as agent:
        client, session = agent.client, agent.session
        for turns in (1, 2):
            assert (await client.ask(session, "go"))["status"] == "completed"
            used = (await client.get(f"/api/sessions/{session}/budget"))["used"]
            assert used["turns"] == turns
            # Agents report the tokens of a turn, but the cost of the whole conversation.
            assert (used["tokens"], used["cost"]) == (turns * tokens, spent)
        await client.get("/api/home")


async def test_a_budget_is_not_given_back(tmp_path: Path) -> None:
    """B5: An agent that reports less than nothing does not extend the budget of its tree."""
    usage = '"usage":{"totalTokens":-1000000}'
    end = line(f'{{"jsonrpc":"2.0","id":{{prompt}},"result":{{"stopReason":"end_turn",{usage}}}}}')
    async with hostile(tmp_path, end) as agent:
        client, session = agent.client, agent.session
        await client.call("PUT", f"/api/sessions/{session}/budget", json={"maxTokens": 5})
        await client.ask(session, "go")
        child = await client.post(f"/api/sessions/{session}/spawn", {"prompt": "a b c d e f g h", "agent": "demo"})
        await client.wait_task(child["taskId"])
        used = (await client.get(f"/api/sessions/{session}/budget"))["used"]["tokens"]
        assert used > 0
        held = await client.prompt(child["sessionId"], "more")
        approval = await client.approval(child["sessionId"])
        assert approval["toolKind"] == "limit"
        await client.call("DELETE", f"/api/tasks/{held}")
