"""P4b: A real agent's own tool for questions asks a person through Bough, also over a kill of the server."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from tests.real_agents.helpers.measurements_table import Record
from tests.real_agents.helpers.several_agents import leads, playing, said_in
from tests.real_agents.test_reissue import free_port
from tests.support.scripted_model.running import ScriptedModel

QUESTION = {
    "questions": [
        {
            "question": "Which color shall the button have?",
            "header": "Color",
            "multiSelect": False,
            "options": [
                {"label": "Red", "description": "Loud"},
                {"label": "Blue", "description": "Calm"},
            ],
        }
    ]
}


@leads("claude-code")
async def test_a_question_is_answered_after_a_kill(
    agent: str, model: ScriptedModel, place: Path, repo: Path, record: Record
) -> None:
    """P4b, Q4, O2: The agent's question waits as a form over a kill -9 of the server; its answer reaches the model in
    the same attempt."""
    async with playing(agent, model=model, place=place, repo=repo, flags=("--port", free_port())) as real:
        session = await real.session(permissionMode="default")
        call = f"[[tool AskUserQuestion {json.dumps(QUESTION)}]]"
        task_id = await real.client.prompt(session, f"{call} {real.actions.say('over')}")
        asked = await real.client.approval(session)
        assert (asked["toolKind"], asked["title"]) == ("question", "Which color shall the button have?")
        color = asked["toolCall"]["fields"][0]
        assert [choice["title"] for choice in color["choices"]] == ["Red", "Blue"]
        await real.server.stop(signal.SIGKILL)
        await real.server.start()
        async with real.server.client() as real.client:
            body = {"action": "accept", "content": {color["name"]: "Blue"}}
            await real.client.post(f"/api/approvals/{asked['id']}", body)
            task = await real.client.wait_task(task_id)
            assert (task["status"], task["attempt"]) == ("completed", 1)
            answer = await said_in(real, task)
            tools = await real.tools(session)
            assert answer.endswith("over") and "Blue" in json.dumps([answer, tools]), (answer, tools)
            record("question answered after a kill", "reaches the model")
