"""Lines that a hostile agent writes: none of them reaches another session, ends the reader or spoils the transcript."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.agents.hostile import hostile, line, message, text, update
from tests.core.helpers import open_session

DEEP = "[" * 600 + "]" * 600
DEEPER = "[" * 100_000 + "]" * 100_000


def raw_input(value: str) -> bytes:
    """Returns a tool call whose arguments are this JSON, valid or not."""
    fields = f'"sessionUpdate":"tool_call","toolCallId":"c","title":"x","kind":"edit","rawInput":{value}'
    return f'{{"method":"session/update","params":{{"sessionId":"replay","update":{{{fields}}}}}}}'.encode("latin-1")


@pytest.mark.parametrize(
    "bad",
    [
        raw_input(DEEP),
        raw_input(DEEPER),
        raw_input('{"a":1e999}'),
        raw_input('{"a":' + "9" * 5000 + "}"),
        raw_input('{"a":"\xff"}'),
        raw_input('{"a":"\\ud800"}'),
        b'{"method":"session/update","params":' + b'{"a":' * 5000,
        b"\0\0\0\0",
        b'{"jsonrpc":"2.0","id":{prompt},"resu',
    ],
    ids=["deep", "deeper", "number", "long number", "not text", "half a character", "open", "NUL", "half an answer"],
)
async def test_a_line_that_nobody_can_read(tmp_path: Path, bad: bytes) -> None:
    """C1: The turn continues as if the line were not there, in one attempt; the transcript can be read, exported and
    searched."""
    async with hostile(tmp_path, line(bad), text("still here")) as agent:
        client, session = agent.client, agent.session
        task = await client.ask(session, "go")
        assert (task["status"], task["attempt"]) == ("completed", 1)
        assert await client.texts(session) == ["still here"]
        await client.get(f"/api/sessions/{session}/export")
        assert (await client.http.get(f"/api/sessions/{session}/export?format=markdown")).status_code == 200
        fork = await client.post(f"/api/sessions/{session}/fork", {"prompt": "[[recall]]", "agent": "demo"})
        assert (await client.wait_task(fork["taskId"]))["status"] == "completed"


@pytest.mark.parametrize(
    ("result", "readable"),
    [
        (DEEP, False),
        ('{"stopReason":1e999}', False),
        ('{"stopReason":["x"]}', True),
        ('"end_turn"', True),
        ("7", True),
    ],
    ids=["deep", "number", "list", "text", "integer"],
)
async def test_an_answer_that_nobody_can_read(tmp_path: Path, result: str, readable: bool) -> None:
    """C1: A turn ends although its answer makes no sense, and the next one works."""
    steps = (line(f'{{"jsonrpc":"2.0","id":{{prompt}},"result":{result}}}'),)
    async with hostile(tmp_path, *steps) as agent:
        for _ in range(2):
            task = await agent.client.ask(agent.session, "go")
            error: dict[str, Any] = task["error"] or {"code": None, "message": ""}
            unreadable = ("failed", "agent_refused", True)
            assert task["attempt"] == 1
            assert (task["status"], error["code"], "The answer cannot be read" in error["message"]) == (
                ("completed", None, False) if readable else unreadable
            )


async def test_updates_for_another_session(tmp_path: Path) -> None:
    """R4: Whatever session an update names, it is recorded where its agent works, and nowhere else."""
    async with hostile(tmp_path) as agent:
        client = agent.client
        other = await open_session(agent.server, agent="demo")
        await client.ask(other, "mine")
        before = await client.get(f"/api/sessions/{other}/messages")
        steps = [
            text("forged", other),
            update(other, sessionUpdate="session_info_update", title="taken over"),
            update(other, sessionUpdate="current_mode_update", currentModeId="yolo"),
            message(id=other, result={"stopReason": "end_turn"}),
        ]
        agent.script.write_text(json.dumps(steps))
        # Its process has not started yet, so that it reads the new script.
        assert (await client.ask(agent.session, "go"))["status"] == "completed"
        assert await client.texts(agent.session) == ["forged"]
        assert await client.get(f"/api/sessions/{other}/messages") == before
        after = await client.get(f"/api/sessions/{other}")
        assert (after["title"] != "taken over", after["status"]) == (True, "active")


async def test_answers_to_requests_that_nobody_made(tmp_path: Path) -> None:
    """C1: Answers with invented ids, to other requests and a second time end nothing and start nothing."""
    forged = [
        message(id=identifier, result={"stopReason": "end_turn", "sessionId": "x", "outcome": {"outcome": "selected"}})
        for identifier in (0, -1, None, "", "prompt:1:1", "initialize", "session/new:1", "approval:1")
    ]
    again = line('{"jsonrpc":"2.0","id":{prompt},"result":{"stopReason":"refusal"}}')
    async with hostile(tmp_path, *forged, text("one"), again, again) as agent:
        for number in (1, 2):
            task = await agent.client.ask(agent.session, "go")
            assert (task["status"], task["attempt"], task["stopReason"]) == ("completed", 1, "refusal")
            assert await agent.client.texts(agent.session) == ["one"] * number


async def test_controls_of_a_terminal(tmp_path: Path) -> None:
    """R4: Escape sequences in texts, titles and plans are stored as text; nothing of them is lost or carried out."""
    trick = "\x1b]0;owned\x07\x1b[2J\r\u202e"
    steps = (
        text(trick),
        update(sessionUpdate="tool_call", toolCallId="c", title=trick, kind="execute", status="completed"),
        update(sessionUpdate="session_info_update", title=trick),
        update(sessionUpdate="plan", entries=[{"content": trick, "priority": "high", "status": "pending"}]),
    )
    async with hostile(tmp_path, *steps) as agent:
        assert (await agent.client.ask(agent.session, "go"))["status"] == "completed"
        assert await agent.client.texts(agent.session) == [trick]
        transcript = await agent.client.get(f"/api/sessions/{agent.session}/messages")
        assert any(entry["content"].get("title") == trick for entry in transcript)


async def test_a_turn_that_never_ends(tmp_path: Path) -> None:
    """T6: A turn whose agent stays silent can be stopped; its process is ended, and the session continues."""
    async with hostile(tmp_path, text("never"), {"stay": True}, stop_timeout=0.5) as agent:
        client, session = agent.client, agent.session
        task = await client.prompt(session, "go")
        await client.wait_task(task, "running")
        stopped = await client.post(f"/api/sessions/{session}/stop")
        assert stopped["task"]["status"] == "cancelled"
        agent.script.write_text("[]")
        assert (await client.ask(session, "again"))["status"] == "completed"
