"""Tests children in an editor that supports subagents."""

from __future__ import annotations

from tests.api.acp.editor_client import Editor, editing
from tests.support.acp.acp_driver import Json
from tests.support.acp.acp_summary import message_texts
from tests.support.server import Running

KNOWS: Json = {"subagents": {}}


def shown_child(editor: Editor, parent: str, child: str) -> Json:
    """Returns the merged updates about a child on its parent."""
    merged: Json = {}
    for item in editor.of(parent, "subagent_update"):
        merged |= item if item["sessionId"] == child else {}
    return merged


async def announced(editor: Editor, parent: str, count: int = 1) -> str:
    """Waits for this many children, and returns the newest."""

    def children() -> list[str]:
        return list(dict.fromkeys(item["sessionId"] for item in editor.of(parent, "subagent_update")))

    await editor.until(lambda: len(children()) >= count)
    return children()[-1]


async def test_children_are_subagents(server: Running) -> None:
    """C3: A child is announced on its parent before its first message and shown with its state, and so are its own
    children."""
    async with editing(server, capabilities=KNOWS) as editor:
        session = await editor.open()
        await editor.ask(session, "/spawn [[say from the child]]")
        child = await announced(editor, session)
        await editor.heard(child, "from the child")
        assert message_texts(editor.story(child)) == ["[[say from the child]]", "from the child"]
        assert shown_child(editor, session, child)["capabilities"] == {"cancel": {}}
        await editor.until(lambda: shown_child(editor, session, child)["state"] == {"state": "idle"})
        states = [item.get("state") for item in editor.of(session, "subagent_update")]
        assert {"state": "running"} in states
        first = next(number for number, change in enumerate(editor.updates) if change["sessionId"] == child)
        announcement = [
            update["update"]["sessionUpdate"] for update in editor.updates[:first] if update["sessionId"] == session
        ]
        assert "subagent_update" in announcement
        # A child of the child, created elsewhere.
        await server.client.post(f"/api/sessions/{child}/spawn", {"prompt": "[[say deeper]]", "title": "Deep"})
        deeper = await announced(editor, child)
        await editor.heard(deeper, "deeper")
        assert shown_child(editor, child, deeper)["title"] == "Deep"


async def test_a_child_asks_and_is_cancelled_alone(server: Running) -> None:
    """C3, P4: A child requests permissions in its own session, and can be cancelled without its parent."""
    async with editing(server, capabilities=KNOWS) as editor:
        session = await editor.open("default")
        editor.decide = lambda _: None
        await editor.ask(session, "/spawn [[run echo hi]]")
        child = await announced(editor, session)
        question = await editor.asked()
        assert question["params"]["sessionId"] == child
        await editor.until(lambda: shown_child(editor, session, child)["state"] == {"state": "requires_action"})
        editor.notify("session/cancel", {"sessionId": child})
        await editor.until(lambda: shown_child(editor, session, child)["state"] == {"state": "idle"})


async def test_existing_children_are_announced(server: Running) -> None:
    """C3: An editor that opens a session learns of its children and follows them until it closes the session."""
    async with editing(server, capabilities=KNOWS) as editor, editing(server) as plain:
        session = await plain.open()
        await plain.ask(session, "/spawn [[say before]]")
        await plain.heard(session, "before")
        await editor.load(session)
        child = await announced(editor, session)
        assert message_texts(editor.story(child)) == []
        await server.client.ask(child, "[[say after]]")
        await editor.heard(child, "after")
        await editor.request("session/close", {"sessionId": session})
        known = len(editor.of(child, "agent_message_chunk"))
        await server.client.ask(child, "[[say unheard]]")
        await editor.request("session/list", {})
        assert len(editor.of(child, "agent_message_chunk")) == known
        # An editor without support for subagents learns of none.
        assert plain.of(session, "subagent_update") == []
