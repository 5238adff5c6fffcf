"""Tests that a session of 10,000 messages is replayed completely and in order."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from bough.model.values.ids import new_id
from bough.model.values.times import now
from tests.api.acp.editor_client import Editor, editing
from tests.support.acp import acp_driver
from tests.support.server import Running

Json = dict[str, Any]

MANY = 10_000
MOST_SECONDS = 40.0
"""It usually takes a few seconds; a machine that runs other suites at the same time may need several times that."""


def _message(number: int) -> tuple[str, Json, Json]:
    """Returns a message: its role, its content, and the update that an editor must get."""
    text = f"{number} naïve 会话 🌳 " + "words " * (number % 17)
    match number % 5:
        case 0:
            return "user", {"type": "text", "text": text}, _chunk("user", text)
        case 1:
            return "agent", {"type": "thought", "text": text, "partial": False}, _chunk("agent_thought", text)
        case 2 | 3:
            return "agent", {"type": "text", "text": text, "partial": False}, _chunk("agent", text)
        case _:
            raw_input, part = {"command": text}, {"type": "content", "content": {"type": "text", "text": text}}
            result = {"status": "completed", "content": [part], "output": {"code": number}}
            row = {"type": "tool", "toolCallId": f"call-{number}", "tool": "run", "title": f"Run {number}"}
            call = {"title": f"Run {number}", "kind": "execute", "status": "completed", "rawInput": raw_input}
            update = {"sessionUpdate": "tool_call", **call, "content": [part], "rawOutput": {"code": number}}
            return "agent", row | {"kind": "execute", "args": raw_input, "result": result}, update


def _chunk(speaker: str, text: str) -> Json:
    kind = speaker if speaker.endswith("thought") else f"{speaker}_message"
    return {"sessionUpdate": f"{kind}_chunk", "content": {"type": "text", "text": text}}


def _write(server: Running, session: str) -> Iterator[Json]:
    """Stores the messages, and yields the update that an editor must get for each."""
    moment = now()
    rows: list[tuple[Any, ...]] = []
    for number in range(MANY):
        id = new_id()
        role, content, update = _message(number)
        rows.append((id, session, number + 1, role, msgspec.json.encode(content).decode(), moment, moment))
        yield update | {("toolCallId" if update["sessionUpdate"] == "tool_call" else "messageId"): id}
    connection = sqlite3.connect(server.data / "bough.db")
    with connection:
        connection.executemany(
            "INSERT INTO messages (id, session_id, position, role, content, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        connection.execute("UPDATE session_private SET next_position = ? WHERE session_id = ?", (MANY + 1, session))
    connection.close()


async def test_ten_thousand_messages(server: Running, editor: Editor) -> None:
    """C2: Sends each row once, whole and in order, before the answer; the next turn follows."""
    session = await editor.open()
    expected = list(_write(server, session))
    begun, before = time.monotonic(), len(editor.log)
    await editor.load(session)
    assert time.monotonic() - begun < MOST_SECONDS
    answered = next(place for place in range(len(editor.log) - 1, 0, -1) if "result" in editor.log[place])
    updates = [
        item["params"]["update"] for item in editor.log[before:answered] if item.get("method") == "session/update"
    ]
    updates = [item for item in updates if "messageId" in item or "toolCallId" in item]
    assert updates == expected
    assert len(updates) == MANY
    await editor.prompt(session, "[[say after all that]]")
    assert editor.said(session).endswith("after all that")


async def test_ten_thousand_live_messages(editor: Editor, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """C2: An editor that watched them all and one that loads them afterwards know the same, with chunks merged."""
    monkeypatch.setattr(acp_driver, "PATIENCE", MOST_SECONDS)
    session = await editor.open()
    async with editing(server) as watcher:
        # The other tests check every line against the schema.
        editor.trust()
        watcher.trust()
        await watcher.load(session)
        script = " ".join(f"[[think {number}]] [[say {number}]]" for number in range(MANY // 2))
        assert await editor.prompt(session, script) == {"stopReason": "end_turn"}
        await watcher.heard(session, str(MANY // 2 - 1))
        watched = watcher.story(session)
        before = len(watcher.updates)
        await watcher.load(session)
        assert len(watched) == MANY + 1
        assert watcher.story(session, before) == watched
        assert editor.story(session) == watched[1:]
