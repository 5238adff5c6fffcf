"""H1, H3: Conversations that a real agent had outside of Bough become sessions, and sessions go on outside of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.real_agents.helpers.agent_under_test import Json, Real
from tests.real_agents.helpers.agent_without_bough import talking
from tests.real_agents.helpers.measurements_table import Record
from tests.support.real_agents.homes import Home

KEEPERS_OF_CONVERSATIONS = ("claude-code", "codex")


def _shown(messages: list[Json]) -> list[tuple[str, str]]:
    """Returns what was said and done, without what differs between a live turn and one that is told again."""
    shown: list[tuple[str, str]] = []
    for message in messages:
        content = message["content"]
        if content["type"] == "text":
            text = re.sub(r"Chunk ID: \w+ Wall time: [\d.]+", "", " ".join(content["text"].split()))
            shown.append((message["role"], text))
        elif content["type"] == "tool":
            output = str(content["result"].get("output") or content["result"].get("content"))
            shown.append((f"tool {content['result']['status']}", "shell-out" if "shell-out" in output else "?"))
    return shown


@pytest.mark.only(*KEEPERS_OF_CONVERSATIONS)
async def test_a_conversation_is_imported(real: Real, record: Record) -> None:
    """H1: A conversation from outside has the same messages and tokens as the same conversation had in Bough; its agent
    knows it, and it is imported once."""
    prompts = ["[[say first answer]]", f"{real.actions.shell_write()} [[say second answer]]"]
    session = await real.session(permissionMode="bypassPermissions")
    inside = [await real.ask(session, prompt) for prompt in prompts]
    expected = _shown(await real.messages(session))
    (real.repo / "made-by-shell.txt").unlink()

    async with talking(real.agent, real.home, real.repo) as talk:
        for prompt in prompts:
            await talk.ask(prompt)
        conversation_id = talk.session_id
    page = await real.client.get("/api/conversations", params={"agent": real.agent, "folder": str(real.repo)})
    listed = {row["id"]: row for row in page["conversations"]}
    assert listed[conversation_id]["sessionId"] is None, page
    body = {"agent": real.agent, "conversationId": conversation_id}
    answer = await real.client.post("/api/conversations/import", body, expect=201)
    imported = answer["session"]["id"]
    assert answer["turns"] == 2
    assert _shown(await real.messages(imported)) == expected
    tasks = (await real.client.get(f"/api/sessions/{imported}/tasks"))["tasks"]
    for task, original in zip(sorted(tasks, key=lambda row: row["position"]), inside, strict=True):
        assert task["usage"]["outputTokens"] > 0
        assert abs(task["usage"]["outputTokens"] - original["usage"]["outputTokens"]) <= 40
    await real.client.post("/api/conversations/import", body, expect=409)
    task_id = await real.client.prompt(imported, real.actions.recall(), resume=True)
    assert (await real.client.wait_task(task_id))["status"] == "completed"
    assert "[[say first answer]]" in (await real.client.texts(imported))[-1]
    record("conversation from outside", "imported")


@pytest.mark.only(*KEEPERS_OF_CONVERSATIONS)
async def test_a_session_goes_on_outside(real: Real, record: Record) -> None:
    """H3: What was said to the agent outside of Bough is added before the next turn, once."""
    session = await real.session(permissionMode="bypassPermissions")
    await real.ask(session, "[[say inside]]")
    command = await real.client.post(f"/api/sessions/{session}/terminal-command")
    assert command["words"][-1] in command["command"]
    async with talking(
        real.agent, _with(real, command["env"]), Path(command["cwd"]), resume=command["words"][-1]
    ) as talk:
        await talk.ask("[[say outside]]")
    await real.ask(session, "[[say inside again]]")
    texts = [text.strip() for text in await real.client.texts(session)]
    assert texts == ["inside", "outside", "inside again"]
    assert (await real.client.post(f"/api/sessions/{session}/catch-up"))["turns"] == 0
    record("conversation that went on outside", "caught up")


def _with(real: Real, env: dict[str, str]) -> Home:
    return Home(real.home.folder, {**real.home.env, **env})
