"""Tests that people are told of each real agent's trouble: the cause of an error, an early end, silence, an MCP server
that does not work, a missing login; and what the agent's work has cost."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.real_agents.helpers.agent_processes import asked, behind_server
from tests.real_agents.helpers.agent_under_test import FULL, Json, Real
from tests.real_agents.helpers.measurements_table import Record
from tests.support.real_agents.homes import Home
from tests.support.scripted_model.running import ScriptedModel

# With these settings, Claude Code gives up at once when a model's service fails.
IMPATIENT = {"CLAUDE_CODE_MAX_RETRIES": "0"}
KEYS = {"claude-code": "ANTHROPIC_API_KEY", "codex": "FAKE_API_KEY", "gemini": "GEMINI_API_KEY"}
SILENT_WITHIN = 40.0
"""Seconds: an agent counts as silent after 15."""


# The others repeat a request that was refused for a while, up to several minutes.
@pytest.mark.only("claude-code", "codex")
async def test_an_error_names_its_cause(
    agent: str, home: Home, model: ScriptedModel, place: Path, repo: Path, record: Record
) -> None:
    """T3: In a session that does not wait for limits, a used-up quota fails the turn with words that say so, also after
    a part of the answer, which stays a message of its own; the session stays usable."""
    async with behind_server(agent, home, model, place, repo, env=IMPATIENT) as real:
        session = await real.session(permissionMode="allow-all", resumeAfterLimit=False)
        quota = real.actions.http(429, "insufficient_quota")
        for prompt in (quota, f"{real.actions.say('a part')} {real.actions.read('seed.txt')} {quota}"):
            task = await real.ask(session, prompt)
            assert task["status"] == "failed"
            message = task["error"]["message"]
            assert re.search(r"(?i)quota|limit|scripted 429", message), message
            assert "Internal error" not in message
            last = (await real.messages(session))[-1]["content"]
            assert (last["type"], last["code"], "a part" in last["text"]) == ("error", task["error"]["code"], False)
        assert any("a part" in text for text in await real.client.texts(session))
        assert (await real.ask(session, real.actions.say("still here")))["status"] == "completed"
        record("quota used up", "said with its cause")


@pytest.mark.only("claude-code", "codex")
async def test_a_limit_parks_the_turn(
    agent: str, home: Home, model: ScriptedModel, place: Path, repo: Path, record: Record
) -> None:
    """Q6: A used-up quota parks the turn, and says when it continues; the session can be used again once the turn is
    given up."""
    async with behind_server(agent, home, model, place, repo, env=IMPATIENT) as real:
        session = await real.session(permissionMode="allow-all")
        task = await real.client.prompt(session, real.actions.http(429, "insufficient_quota"))

        async def parked() -> dict[str, Any] | None:
            return (await real.client.get(f"/api/tasks/{task}"))["parked"]

        limit = await real.client.eventually(parked)
        assert limit["agent"] == agent and limit["resumesAt"] is not None and limit["tries"] == 0
        await real.client.call("DELETE", f"/api/tasks/{task}")
        assert (await real.client.wait_task(task))["status"] == "cancelled"
        assert (await real.ask(session, real.actions.say("still here")))["status"] == "completed"
        record("turn that a limit ended", "is parked")


async def test_an_early_end(real: Real, record: Record) -> None:
    """T3: The transcript says that an answer is incomplete if the agent reports that its model's service cut it off or
    refused it. Which agents do is recorded, not promised."""
    for reason in ("max_tokens", "refusal"):
        await real.model.reset()
        session = await real.session()
        task = await real.ask(session, f"{real.actions.say('a part')} {real.actions.end(reason)}")
        contents = [message["content"] for message in await real.messages(session)]
        outcome = task["error"]["code"] if task["error"] else task["stopReason"]
        shown = any(content["type"] in ("notice", "error") for content in contents)
        assert shown or outcome == "end_turn", contents
        if outcome == "end_turn":
            outcome = "the agent asks again" if len(await asked(real, "")) > 1 else "not reported by the agent"
        record(f"model ends with {reason}", outcome)


@pytest.mark.skipif(not FULL, reason="FULL=1 is for what takes long")
async def test_silence_is_said(real: Real, record: Record) -> None:
    """R4: Who follows a turn is told after 15 s that its agent is silent, and since when."""
    session = await real.session()
    task = await real.client.prompt(session, f"{real.actions.say('begun')} [[gate silence]] {real.actions.say('on')}")
    command = (sys.executable, "-m", "bough", "--data", str(real.server.data), "session", "watch", session)
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    assert process.stdout is not None
    output = b""
    try:
        async with asyncio.timeout(SILENT_WITHIN + 60):
            while b"has been silent since" not in output:
                output += await process.stdout.readline()
    finally:
        process.kill()
        await process.wait()
    await real.model.open("silence")
    assert (await real.client.wait_task(task))["status"] == "completed"
    record("silence", "said after 15 s")


async def test_mcp_servers_that_do_not_work_are_named(real: Real, place: Path, record: Record) -> None:
    """C1: The transcript names a server whose program does not exist and one that cannot be reached, the turn runs, and
    other servers work."""
    ids = [
        (await real.client.post("/api/mcp-servers", body))["id"]
        for body in (
            {"name": "nowhere", "transport": "stdio", "command": str(place / "missing")},
            {"name": "closed", "transport": "http", "url": "http://127.0.0.1:9/mcp"},
        )
    ]
    session = await real.session(mcpServerIds=ids)
    assert (await real.ask(session, real.actions.say("works without")))["status"] == "completed"
    assert "works without" in await real.said(session)
    notices = [item["content"]["text"] for item in await real.messages(session) if item["content"]["type"] == "notice"]
    assert any("nowhere" in text for text in notices) and any("closed" in text for text in notices), notices
    record("MCP server that does not work", "named in the transcript")


@pytest.mark.only("claude-code", "codex", "gemini")
async def test_a_queue_waits_for_a_login(
    agent: str, home: Home, model: ScriptedModel, place: Path, repo: Path, record: Record
) -> None:
    """Q5: A missing key fails the prompt that met it. Those behind it wait, and run once the session has a key."""
    keyless = Home(home.folder, {name: value for name, value in home.env.items() if "_KEY" not in name})
    async with behind_server(agent, keyless, model, place, repo) as real:
        session = await real.session()
        path = f"/api/sessions/{session}"
        await real.client.call("PATCH", path, json={"queuePaused": True})
        tasks = [await real.client.prompt(session, real.actions.say(f"answer {number}")) for number in range(3)]
        await real.client.post(f"{path}/resume")
        first = await real.client.wait_task(tasks[0])
        assert (first["status"], first["error"]["code"]) == ("failed", "agent_login")
        shown = await real.client.get(path)
        assert shown["queuePaused"] is True and shown["metadata"]["pauseReason"]
        assert [await _status(real, task) for task in tasks[1:]] == ["queued", "queued"]
        await real.client.call("PATCH", path, json={"env": {KEYS[agent]: home.env[KEYS[agent]]}})
        await real.client.post(f"{path}/resume")
        assert [(await real.client.wait_task(task))["status"] for task in tasks[1:]] == ["completed", "completed"]
        # An agent may send the failed prompt once more, before the next one, as a part of its conversation.
        assert [entry for entry in await asked(real, "answer 0") if "answer 1" not in entry.last_user] == []
    record("queue behind a missing login", "waits")


@pytest.mark.only("claude-code", "opencode")
async def test_a_copied_past_costs_nothing_again(real: Real, record: Record) -> None:
    """B1, B6: The cost of a fork, and of a side question, is that of its own turns, not also that of the conversation
    that it was copied from."""
    parent = await real.session()
    costs = [_cost(await real.ask(parent, f"Remember bird {number}.")) for number in range(4)]
    assert min(costs) > 0
    made = await real.client.post(f"/api/sessions/{parent}/fork", {"prompt": "Which bird?"})
    forked = _cost(await real.client.wait_task(made["taskId"]))
    aside = await real.client.post(f"/api/sessions/{parent}/btw", {"prompt": "And which was first?"})
    asked_aside = _cost(await real.client.wait_task(aside["taskId"]))
    # A turn costs about the same each time: what is sent hardly grows.
    assert 0 < forked < 2 * max(costs) < sum(costs), (costs, forked)
    assert 0 < asked_aside < 2 * max(costs), (costs, asked_aside)
    again = _cost(await real.ask(made["sessionId"], "And the next?"))
    assert 0 < again < 2 * max(costs), (costs, again)
    record("cost of forks and side questions", "their own turns")


def _cost(task: Json) -> float:
    assert task["status"] == "completed", task
    return float(task["cost"]["amount"])


async def _status(real: Real, task: str) -> str:
    return (await real.client.get(f"/api/tasks/{task}"))["status"]
