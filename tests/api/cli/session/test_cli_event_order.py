"""Tests the order in which a follower shows events."""

from __future__ import annotations

from typing import Any

import pytest

from bough.api.cli.session.follow import event_order
from bough.api.cli.session.follow.event_order import EventOrder
from tests.api.cli.cli_program import Cli, start
from tests.support.server import Running


class Screen:
    """Records what was shown, in order."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self._begun: set[str] = set()
        self.order = EventOrder(self._show, self._begun.__contains__)

    def _show(self, event: dict[str, Any]) -> None:
        data = event.get("data")
        known = data["id"] if data else event["messageId"]
        self._begun.add(known)
        self.shown.append(f"{known} {data['content'].get('result', {}).get('status', '')}".strip() if data else known)

    def tool(self, known: str, place: int, status: str) -> None:
        self._message(known, place, {"type": "tool", "result": {"status": status}})

    def text(self, known: str, place: int) -> None:
        self._message(known, place, {"type": "text", "text": ""})

    def delta(self, known: str) -> None:
        self.order.take({"type": "message.delta", "messageId": known})

    def _message(self, known: str, place: int, content: dict[str, Any]) -> None:
        self.order.take({"type": "message.patched", "data": {"id": known, "position": place, "content": content}})


def test_text_waits_for_the_end_of_a_tool_call() -> None:
    """O5: Messages that follow a tool call in the transcript, and their deltas, are shown after its end."""
    screen = Screen()
    screen.tool("a", 1, "pending")
    screen.text("b", 2)
    screen.delta("b")
    assert screen.shown == ["a pending"] and screen.order.left() is not None
    screen.tool("a", 1, "completed")
    assert screen.shown == ["a pending", "a completed", "b", "b"] and screen.order.left() is None


def test_concurrent_tool_calls() -> None:
    """O5: Of two tool calls, the first is shown first, whichever ends first."""
    screen = Screen()
    screen.tool("a", 1, "pending")
    screen.tool("b", 2, "pending")
    screen.tool("b", 2, "completed")
    screen.text("c", 3)
    screen.tool("a", 1, "failed")
    assert screen.shown == ["a pending", "a failed", "b pending", "b completed", "c"]


def test_live_text_is_not_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """O5: Messages wait only a moment for a running tool call; from then on nothing waits for it."""
    monkeypatch.setattr(event_order, "GRACE", 0.0)
    screen = Screen()
    screen.text("before", 1)
    screen.tool("a", 2, "pending")
    screen.delta("before")
    assert screen.shown[-1] == "before"
    screen.text("b", 3)
    assert screen.order.left() == 0
    screen.order.let_go()
    screen.delta("b")
    screen.text("c", 4)
    screen.tool("a", 2, "completed")
    assert screen.shown[-4:] == ["b", "b", "c", "a completed"]


async def test_a_turn_is_followed_in_order(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O5: The lines of a followed turn appear in the order of its transcript, including questions."""
    await cli("session", "set", session["id"], "--mode", "default")
    turn = "[[run echo hi]] [[plan A; B]] [[think hm]] [[write a.txt x]]"
    program = await start("session", "prompt", session["id"], turn, "-f", BOUGH_DATA=str(server.data))
    for question in ("execute: echo hi", "edit: Write"):
        await program.until(question)
        await program.until("(or deny)\n")
        asked = await server.client.approval(session["id"])
        await server.client.post(f"/api/approvals/{asked['id']}", {"decision": "allow"})
    ended = await program.end()
    path = f"{server.root}/repo/a.txt"
    rows = [row for row in ended.out.splitlines() if row and not row.startswith("  ")]
    expected = [
        "? execute: echo hi",
        "✓ echo hi",
        "Plan",
        "○ A",
        "○ B",
        "hm",
        f"? edit: Write {path}",
        f"✓ Write {path}",
    ]
    assert (ended.code, rows) == (0, expected)
