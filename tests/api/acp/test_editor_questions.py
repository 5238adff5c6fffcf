"""Tests an agent's questions in editors: asked where the editor declares it, answered once, withdrawn elsewhere."""

from __future__ import annotations

import json

import msgspec

from tests.api.acp.editor_client import Editor, editing
from tests.support.acp.acp_driver import Json
from tests.support.server import Running

ELICITATION: Json = {"elicitation": {"form": {}, "url": {}}}
FORM: Json = {
    "message": "How shall I deploy?",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2},
        "port": {"type": "integer", "minimum": 1024, "default": 8080},
        "region": {"type": "string", "oneOf": [{"const": "eu", "title": "Europe", "description": "Near"}]},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1},
    },
    "required": ["name"],
}


async def asked(editor: Editor, count: int = 1) -> Json:
    await editor.until(lambda: len(editor.questions) >= count)
    return editor.questions[count - 1]


def answer(editor: Editor, question: Json, result: Json) -> None:
    editor.raw(msgspec.json.encode({"jsonrpc": "2.0", "id": question["id"], "result": result}))


async def test_the_first_answer_of_several_editors_wins(server: Running) -> None:
    """P4b, C2c: Every editor that declares it is asked with the form, an answer that does not fit is asked for again,
    the first one that fits reaches the agent, and the others are withdrawn; other editors only see the question."""
    async with (
        editing(server, capabilities=ELICITATION) as first,
        editing(server, capabilities=ELICITATION) as second,
        editing(server) as plain,
    ):
        session = await first.open()
        await second.load(session)
        await plain.load(session)
        turn = first.send_prompt(session, f"[[ask {json.dumps(FORM)}]]")
        question, other = await asked(first), await asked(second)
        params = question["params"]
        assert (params["sessionId"], params["mode"], params["message"]) == (session, "form", FORM["message"])
        assert params["requestedSchema"] == {
            "type": "object",
            "required": ["name"],
            "properties": {
                **{name: FORM["properties"][name] for name in ("name", "port", "region")},
                "tags": {
                    "type": "array",
                    "items": {"anyOf": [{"const": "a", "title": "a"}, {"const": "b", "title": "b"}]},
                    "maxItems": 1,
                },
            },
        }
        await plain.until(lambda: "tool_call" in plain.kinds(session))
        assert plain.permissions == [] and plain.questions == []
        answer(first, question, {"action": "accept", "content": {"name": "x"}})
        again = await asked(first, 2)
        assert "at least 2 characters" in again["params"]["message"]
        answer(first, again, {"action": "accept", "content": {"name": "web", "port": 9000}})
        assert await first.answer(turn) == {"stopReason": "end_turn"}
        await first.heard(session, 'You answered accept {"name":"web","port":9000}.')
        await second.until(lambda: second.withdrawn == [other["id"]])
        (approval,) = (await server.client.get("/api/approvals"))["approvals"]
        assert approval["answer"] == {"action": "accept", "content": {"name": "web", "port": 9000}}


async def test_an_address_in_an_editor(server: Running) -> None:
    """P4b, C2c: An address is passed to the editor as such; its answer is the person's."""
    async with editing(server, capabilities=ELICITATION) as editor:
        session = await editor.open()
        turn = editor.send_prompt(session, '[[ask {"message": "Sign in.", "url": "https://example.com/a"}]]')
        question = await asked(editor)
        assert (question["params"]["mode"], question["params"]["url"]) == ("url", "https://example.com/a")
        answer(editor, question, {"action": "decline"})
        await editor.answer(turn)
        await editor.heard(session, "You answered decline.")
