"""The limit of a transcript: what is shortened, when a turn is stopped, and how a person raises the limit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bough.agents.acp.wire import SessionUpdate
from bough.core.transcripts.recorder import Recorder
from bough.core.transcripts.shorten import LONGEST_TEXT, MOST_ITEMS, shortened
from bough.core.transcripts.transcript_limit import TranscriptLimit
from bough.errors import Denied
from bough.model.session import Caller
from tests.api.error_responses import NOBODY, refused
from tests.core.helpers import messages, misbehaving, open_session
from tests.support.server import Running, serving


def said(text: str) -> SessionUpdate:
    return SessionUpdate("s", "agent_message_chunk", text, None, b"")


def tool(call_id: str, **fields: Any) -> SessionUpdate:
    update = {"sessionUpdate": "tool_call", "toolCallId": call_id, **fields}
    line = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}
    return SessionUpdate("s", "tool_call", None, None, json.dumps(line).encode())


async def test_tool_output_is_shortened_before_anything_is_stopped(server: Running) -> None:
    """R4: Near the limit people are told once and only the output of tools gets shorter; at the limit nothing more is
    stored."""
    session = await open_session(server)
    recorder = Recorder(server.services.store, server.services.hub, session, "nobody", limit=50_000)
    output = "x" * 4000
    recorder.take([tool("a", status="completed", rawOutput=output)], 1)
    recorder.take([said("y" * 41_000)], 2)
    await recorder.flush()
    assert not recorder.full.is_set()
    recorder.take([tool("b", status="completed", rawOutput=output)], 3)
    recorder.take([said("short")], 4)
    await recorder.flush()
    whole, short = await messages(server.client, session, "tool")
    assert whole["result"]["output"] == output
    assert "[2000 characters left out, because the transcript is nearly full]" in short["result"]["output"]
    assert (await messages(server.client, session, "text"))[-1]["text"] == "short"
    [notice] = await messages(server.client, session, "notice")
    assert "has reached 90% of its limit of 48.83 KiB" in notice["text"]
    recorder.take([said("z" * 9000)], 5)
    await recorder.flush()
    assert recorder.full.is_set()
    recorder.take([said("lost")], 6)
    await recorder.flush()
    assert recorder.last == 6
    assert "lost" not in str(await messages(server.client, session, "text"))
    assert len(await messages(server.client, session, "notice")) == 1


async def test_a_growing_message_is_counted_once(server: Running) -> None:
    """R4: The size is that of the rows, however often a message is written."""
    session = await open_session(server)
    recorder = Recorder(server.services.store, server.services.hub, session, "nobody")
    for number in range(5):
        recorder.take([said("tick ")], number)
        await recorder.flush()
    size = await server.client.get(f"/api/sessions/{session}/transcript")
    rows = await server.client.get(f"/api/sessions/{session}/messages")
    stored = sum(len(json.dumps(row["content"], separators=(",", ":"))) for row in rows)
    assert size["used"] == stored > 0
    assert size["limit"] == 256 * 1024 * 1024 and size["ownLimit"] is None


async def test_a_flood_is_stopped_and_a_person_raises_the_limit(tmp_path: Path) -> None:
    """R4, Q5: The turn fails with a clear error, the queue waits, no prompt is sent before the limit is raised, and
    then the rest runs."""
    async with serving(tmp_path, max_transcript=60_000) as server:
        client = server.client
        session = await open_session(server)
        path = f"/api/sessions/{session}"
        tasks = [await client.prompt(session, text) for text in ("[[flood 1000000]]", "[[say two]]")]
        first = await client.wait_task(tasks[0])
        assert (first["status"], first["error"]["code"]) == ("failed", "transcript_full")
        assert "What the agent said after that is not stored." in first["error"]["message"]
        shown = await client.get(path)
        assert shown["queuePaused"] is True and "has reached its limit" in shown["metadata"]["pauseReason"]
        assert (await client.get(f"/api/tasks/{tasks[1]}"))["status"] == "queued"
        assert len(await messages(client, session, "notice")) == 1

        await client.post(f"{path}/resume")
        second = await client.wait_task(tasks[1])
        assert (second["status"], second["error"]["code"]) == ("failed", "transcript_full")
        assert "two" not in await client.texts(session)

        size = await client.call("PUT", f"{path}/transcript", json={"limit": 100_000_000})
        assert size["used"] >= 60_000 and (size["limit"], size["ownLimit"]) == (100_000_000, 100_000_000)
        done = await client.ask(session, "[[say three]]")
        assert done["status"] == "completed" and (await client.texts(session))[-1] == "three"
        again = await client.call("PUT", f"{path}/transcript", json={"limit": None})
        assert (again["limit"], again["ownLimit"]) == (60_000, None)


async def test_an_agent_that_does_not_stop_is_ended(tmp_path: Path) -> None:
    """T3: An agent that ignores the end of its turn is ended, and the turn has the same error."""
    misbehaving(tmp_path, "streams_forever")
    async with serving(tmp_path, max_transcript=800, stop_timeout=0.5) as server:
        client = server.client
        session = await open_session(server, agent="streams_forever")
        task = await client.ask(session, "go")
        assert (task["status"], task["error"]["code"], task["attempt"]) == ("failed", "transcript_full", 1)
        assert (await client.texts(session))[0].startswith("and so on ")
        assert (await client.get(f"/api/sessions/{session}"))["status"] == "active"


async def test_the_size_outlives_the_server(tmp_path: Path) -> None:
    """O2: A transcript that is full stays full after a restart, and a fork of the session starts empty."""
    async with serving(tmp_path, max_transcript=60_000) as server:
        session = await open_session(server)
        await server.client.ask(session, "[[flood 1000000]]")
        used = (await server.client.get(f"/api/sessions/{session}/transcript"))["used"]
    async with serving(tmp_path, max_transcript=60_000) as server:
        client = server.client
        assert (await client.get(f"/api/sessions/{session}/transcript"))["used"] == used
        failed = await client.ask(session, "[[say more]]")
        assert failed["error"]["code"] == "transcript_full"
        fork = await client.post(f"/api/sessions/{session}/fork", {"prompt": "[[say on]]"})
        assert (await client.wait_task(fork["taskId"]))["status"] == "completed"


@pytest.mark.parametrize("body", [{}, {"limit": 0}, {"limit": "many"}, {"limit": 1, "more": 2}])
async def test_wrong_limits(server: Running, body: dict[str, Any]) -> None:
    """L3: A limit is a positive number of bytes, or null."""
    session = await open_session(server)
    refused(await server.client.http.put(f"/api/sessions/{session}/transcript", json=body), 400)
    refused(await server.client.http.get(f"/api/sessions/{NOBODY}/transcript"), 404, "session_not_found")


async def test_an_agent_cannot_raise_its_limit(server: Running) -> None:
    """P2: Only people change the limit of a transcript."""
    session = await open_session(server)
    with pytest.raises(Denied) as denied:
        await server.services.transcript_limits.set(Caller("session", session), session, TranscriptLimit(limit=None))
    assert denied.value.code == "transcript_limit_for_people"


def test_shortening() -> None:
    """R4: Long texts keep their ends, long lists their first items, and images go whole; the rest stays."""
    long = "a" * LONGEST_TEXT + "b"
    deep: Any = "x"
    for _ in range(50):
        deep = [deep]
    image = {"type": "content", "content": {"type": "image", "data": "A" * 5000, "mimeType": "image/png"}}
    text = {"type": "content", "content": {"type": "text", "text": "short"}}
    body: dict[str, Any] = {
        "type": "tool",
        "args": {"text": long},
        "result": {
            "status": "completed",
            "output": {"text": long, "deep": deep},
            "content": [image, text] * MOST_ITEMS,
        },
    }
    short = shortened(body)
    assert short["args"] == body["args"] and short["result"]["status"] == "completed"
    output = short["result"]["output"]["text"]
    assert output.startswith("aaa") and output.endswith("aab") and "[1 characters left out" in output
    assert "left out" in str(short["result"]["output"]["deep"])
    content = short["result"]["content"]
    assert len(content) == MOST_ITEMS + 1 and content[1] == text
    assert content[0]["content"]["text"].startswith("[an image left out")
    assert "100 parts left out" in content[-1]["content"]["text"]
    assert body["result"]["output"]["text"] == long
    assert shortened({"type": "tool", "result": "odd"}) == {"type": "tool", "result": "odd"}
