"""Tries to make a command look like another one to the person who decides about it."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from bough.model.values.visible import visible, visible_call
from tests.core.asking_agent import wanting

TRICKS = {
    "rm \u202egpj.exe": "rm \\u202egpj.exe",
    "ls\u200b\u2060 -la": "ls\\u200b\\u2060 -la",
    "echo \x1b[2Jx": "echo \\u001b[2Jx",
    "a\rb": "a\\u000db",
    "tag \U000e0041": "tag \\U000e0041",
    "\ufeff\u3164\u00ad": "\\ufeff\\u3164\\u00ad",
    "line one\n\ttwo – übung 漢字": "line one\n\ttwo – übung 漢字",
}


@pytest.mark.parametrize(("text", "shown"), TRICKS.items())
def test_hidden_characters_are_escapes(text: str, shown: str) -> None:
    """P4: Control characters, marks of direction and characters without width are shown."""
    assert visible(text) == shown


def test_every_character_without_a_shape() -> None:
    """P4: No control or format character of Unicode stays hidden."""
    categories = ("Cc", "Cf", "Zl", "Zp", "Cs")
    shapeless = [char for char in map(chr, range(0x110000)) if unicodedata.category(char) in categories]
    assert [char for char in shapeless if visible(char) == char] == ["\t", "\n"]


def test_ids_and_originals_stay() -> None:
    """P4: What programs compare is kept; a call that shows differently carries its original."""
    call = {"toolCallId": "a\u200b", "rawInput": {"command": "x\u202ey"}}
    shown = visible_call(call)
    assert (shown["toolCallId"], shown["rawInput"]["command"]) == ("a\u200b", "x\\u202ey")
    assert shown["original"] == call
    assert visible_call({"title": "plain"}) == {"title": "plain"}


async def test_an_approval_shows_what_would_run(tmp_path: Path) -> None:
    """P4: Title, tool call and options of an approval show hidden characters; the answer still reaches the agent."""
    command = "cat a \u202etxt.erutcip"
    call = {"title": command, "kind": "execute", "rawInput": {"command": command}}
    async with wanting(tmp_path) as wanter:
        task = await wanter.wants(call)
        approval = await wanter.client.approval(wanter.session)
        assert approval["title"] == "cat a \\u202etxt.erutcip"
        assert approval["toolCall"]["rawInput"] == {"command": "cat a \\u202etxt.erutcip"}
        assert approval["toolCall"]["original"]["rawInput"] == {"command": command}
        await wanter.client.post(f"/api/approvals/{approval['id']}", {"decision": "allow_always"})
        assert (await wanter.client.wait_task(task))["status"] == "completed"
        # The remembered choice is about the original.
        assert await wanter.settled(call) == "yes"
