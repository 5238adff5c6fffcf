"""Tests questions of hostile agents: forms that are too large, that hide something, or that no person could answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bough.model.questions.form import MOST_CHOICES
from tests.attacks.agents.hostile import Hostile, hostile, line, message, text, update
from tests.attacks.test_secret_values import SECRET, everything, pieces
from tests.core.helpers import messages
from tests.support.client import Json
from tests.support.eventually import eventually
from tests.support.misbehaving_agents.protocol import SESSION


def ask(request_id: Any, **params: Any) -> Json:
    """A step that asks a question."""
    return message(
        id=request_id,
        method="elicitation/create",
        params={"sessionId": SESSION, "mode": "form", "message": "?", "requestedSchema": {"properties": {}}, **params},
    )


def fields(**properties: Any) -> Json:
    return {"requestedSchema": {"type": "object", "properties": properties}}


TEXT = {"type": "string"}
MANY: Json = {"type": "array", "items": {"enum": [str(number) for number in range(MOST_CHOICES)]}}
URL = {"mode": "url", "elicitationId": "e"}
REFUSED: dict[str, Json] = {
    "no message": {"message": None},
    "an empty message": {"message": " \n"},
    "an endless message": {"message": "x" * 20_000},
    "an unknown mode": {"mode": "hologram"},
    "no schema": {"requestedSchema": None},
    "a schema that is a list": {"requestedSchema": []},
    "too many fields": fields(**{f"f{number}": TEXT for number in range(101)}),
    "too many choices": fields(a={"type": "string", "enum": [str(number) for number in range(501)]}),
    "no choices": fields(a={"type": "string", "enum": []}),
    "a choice twice": fields(a={"type": "string", "enum": ["x", "x"]}),
    "a huge form": fields(**{f"f{number}": {**TEXT, "description": "x" * 5000} for number in range(20)}),
    "a proposal without end": fields(a={**MANY, "default": ["499"] * 60_000}),
    "a hidden name": fields(**{"a\u202eb": TEXT}),
    "a name without end": fields(**{"a" * 300: TEXT}),
    "a required field without a control": {
        "requestedSchema": {"properties": {"a": {"type": "object"}}, "required": ["a"]}
    },
    "a required field that is missing": {"requestedSchema": {"properties": {}, "required": ["a"]}},
    "a file": {**URL, "url": "file:///etc/passwd"},
    "a script": {**URL, "url": "javascript:alert(1)"},
    "a script in other letters": {**URL, "url": "JavaScript:alert(1)"},
    "a page inside the address": {**URL, "url": "data:text/html,<script>alert(1)</script>"},
    "a page of a script's": {**URL, "url": "blob:https://github.com/x"},
    "a program of the desktop": {**URL, "url": "vscode://file/etc/passwd"},
    "a user name before the host": {**URL, "url": "https://github.com@evil.example/"},
    "a backslash before the host": {**URL, "url": "https://evil.example\\.github.com/"},
    "letters that look like others": {**URL, "url": "https://g\u0456thub.com/"},
    "a line break": {**URL, "url": "https://github.com/\nx"},
    "no host": {**URL, "url": "https:///x"},
    "no id": {"mode": "url", "url": "https://github.com/"},
}


async def test_questions_that_no_person_could_answer(tmp_path: Path) -> None:
    """P4b: A question that cannot be shown whole and honestly is refused with its reason, no person is asked, and the
    turn continues."""
    steps = [ask(number, **params) for number, params in enumerate(REFUSED.values())]
    async with hostile(tmp_path, *steps, {"wait": len(steps)}) as agent:
        assert (await agent.client.ask(agent.session, "go"))["status"] == "completed"
        answers = {answer["id"]: answer for answer in agent.answers()}
        for number, lie in enumerate(REFUSED):
            assert answers[number]["error"]["code"] == -32602, lie
            assert answers[number]["error"]["message"], lie
        assert await agent.approvals() == []


async def test_a_question_that_cannot_be_read(tmp_path: Path) -> None:
    """P4b: A question that is nested too deeply is answered with an error, so that the agent does not wait forever."""
    deep = '{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":' + '{"a":' * 300 + "1" + "}" * 301
    async with hostile(tmp_path, line(deep), {"wait": 1}) as agent:
        assert (await agent.client.ask(agent.session, "go"))["status"] == "completed"
        assert [answer["id"] for answer in agent.answers() if "error" in answer] == [7]


async def _only(agent: Hostile) -> Json:
    async def look() -> Json | None:
        waiting = await agent.approvals("pending")
        return waiting[0] if waiting else None

    return await eventually(look, "the question waits")


async def test_hidden_characters_are_shown(tmp_path: Path) -> None:
    """P4b: Control characters and marks of direction in a question are shown as escapes; the agent gets its own value
    back for a choice."""
    schema = fields(
        a={
            "type": "string",
            "title": "Safe\u202e",
            "oneOf": [{"const": "x\u200b", "title": "Yes\x1b[31m"}, {"const": "x", "title": "No"}],
        }
    )
    async with hostile(tmp_path, ask(1, message="Delete\u202e?", **schema), {"wait": 1}) as agent:
        task = await agent.client.prompt(agent.session, "go")
        approval = await _only(agent)
        assert approval["title"] == "Delete\\u202e?"
        (field,) = approval["toolCall"]["fields"]
        assert field["title"] == "Safe\\u202e"
        assert field["choices"][0] == {"value": "x\\u200b", "title": "Yes\\u001b[31m"}
        assert "\\u202e" not in json.dumps(approval).replace("\\\\u202e", "")
        answer = {"action": "accept", "content": {"a": "x\\u200b"}}
        await agent.client.post(f"/api/approvals/{approval['id']}", answer)
        assert (await agent.client.wait_task(task))["status"] == "completed"
        assert agent.answers()[0]["result"] == {"action": "accept", "content": {"a": "x\u200b"}}


async def test_an_agent_withdraws_its_question(tmp_path: Path) -> None:
    """P4b, A4: An agent that cancels its question gets an answer, people are told, and the turn runs on. The OpenAPI
    document knows such an approval."""
    cancel = message(method="$/cancel_request", params={"requestId": 1})
    async with hostile(tmp_path, ask(1), cancel, {"wait": 1}) as agent:
        assert (await agent.client.ask(agent.session, "go"))["status"] == "completed"
        (approval,) = await agent.approvals()
        assert (approval["status"], approval["decidedBy"]["kind"]) == ("cancelled", "agent")
        components = (await agent.client.get("/openapi.json"))["components"]
        schema = {"$ref": "#/components/schemas/Approval", "components": components}
        Draft202012Validator(schema).validate(approval)  # pyright: ignore[reportUnknownMemberType]
        assert agent.answers()[0]["result"] == {"action": "cancel"}


async def test_an_address_that_was_opened_elsewhere(tmp_path: Path) -> None:
    """P4b: When the agent says that its address is done, the question is accepted without a person, and the transcript
    does not say that anybody answered."""
    asked = ask(1, **URL, url="https://example.com/login")
    done = message(method="elicitation/complete", params={"elicitationId": "e"})
    other = message(method="elicitation/complete", params={"elicitationId": "other"})
    async with hostile(tmp_path, asked, other, done, {"wait": 1}) as agent:
        assert (await agent.client.ask(agent.session, "go"))["status"] == "completed"
        (approval,) = await agent.approvals()
        assert (approval["status"], approval["decidedBy"]["kind"]) == ("allowed", "agent")
        assert agent.answers()[0]["result"] == {"action": "accept"}
        (note,) = await messages(agent.client, agent.session, "notice")
        assert note["text"] == "Ended by the agent: ?"


@pytest.mark.parametrize("after", ["the turn", "another turn"])
async def test_a_question_that_outlives_its_turn(tmp_path: Path, after: str) -> None:
    """P4b: A question that is open when its turn ends is cancelled, and one after the turn is not asked."""
    end = line('{"jsonrpc":"2.0","id":{prompt},"result":{"stopReason":"end_turn"}}')
    steps = (end, ask(1), {"wait": 1}) if after == "the turn" else (ask(1), end, {"wait": 1})
    async with hostile(tmp_path, *steps) as agent:
        assert (await agent.client.ask(agent.session, "go"))["status"] == "completed"
        await eventually(lambda: len(agent.answers()) == 1, "the question is answered")
        assert agent.answers()[0]["result"] == {"action": "cancel"}
        assert [approval["status"] for approval in await agent.approvals()] in ([], ["cancelled"])


async def test_a_proposal_that_is_slow_to_check(tmp_path: Path) -> None:
    """P4b: A proposal of more values than a field can offer is left out, each of many is looked up once, and a value
    that is no text is no choice."""
    long, whole = ["499"] * (MOST_CHOICES + 1), [str(number) for number in range(MOST_CHOICES)]
    schema = fields(long={**MANY, "default": long}, whole={**MANY, "default": whole}, odd={**MANY, "default": [["1"]]})
    async with hostile(tmp_path, ask(1, **schema), {"wait": 1}) as agent:
        task = await agent.client.prompt(agent.session, "go")
        approval = await _only(agent)
        proposed = {field["name"]: field.get("default") for field in approval["toolCall"]["fields"]}
        assert proposed == {"long": None, "whole": whole, "odd": None}
        path = f"/api/approvals/{approval['id']}"
        wrong: list[Json] = [{"whole": long}, {"whole": [{}]}]
        for content in wrong:
            answer = await agent.client.http.post(path, json={"action": "accept", "content": content})
            assert answer.status_code == 400
        await agent.client.post(path, {"action": "accept", "content": {"whole": whole[:2]}})
        await agent.client.wait_task(task)
        assert agent.answers()[0]["result"]["content"] == {"whole": whole[:2]}


async def test_an_agent_repeats_a_secret_answer(tmp_path: Path) -> None:
    """P4b, R1: The agent gets a secret answer, and what it says of it is masked: in a message that it had begun, in
    pieces, and in a tool call that it had started."""
    call = {"toolCallId": "call", "title": "Log in", "kind": "execute", "status": "in_progress"}
    steps = (
        update(sessionUpdate="tool_call", **call),
        text("Your key: "),
        ask(1, **fields(key={"type": "string", "format": "password"}, name=TEXT)),
        {"wait": 1},
        text(SECRET[:7]),
        text(f"{SECRET[7:]}."),
        update(sessionUpdate="tool_call_update", toolCallId="call", rawOutput=f"key={SECRET}", status="completed"),
    )
    async with hostile(tmp_path, *steps) as agent:
        task = await agent.client.prompt(agent.session, "go")
        approval = await _only(agent)
        async with agent.client.events(agent.session) as events:
            content = {"key": SECRET, "name": f"also {SECRET}"}
            path = f"/api/approvals/{approval['id']}"
            decided = await agent.client.post(path, {"action": "accept", "content": content})
            assert decided["answer"]["content"] == {"key": "***", "name": "also ***"}
            await agent.client.wait_task(task)
            ended = await events.until(lambda event: event["type"] == "task.patched" and event["data"].get("endedAt"))
            assert ended["data"]["status"] == "completed"
            assert SECRET not in json.dumps(events.seen)
        assert agent.answers()[0]["result"]["content"] == content
        assert (await agent.client.texts(agent.session))[-1] == "Your key: ***."
        assert not pieces(await everything(agent.client, agent.session))
        again = await agent.client.prompt(agent.session, f"It was {SECRET}")
        assert (await agent.client.get(f"/api/tasks/{again}"))["prompt"] == "It was ***"
        await agent.client.call("DELETE", f"/api/tasks/{again}")
        await agent.client.wait_task(again)


async def test_many_questions(tmp_path: Path) -> None:
    """P4b: One agent has at most 100 open questions; more are refused."""
    async with hostile(tmp_path, *(ask(number) for number in range(103)), {"wait": 60}) as agent:
        task = await agent.client.prompt(agent.session, "go")
        await eventually(lambda: len(agent.answers()) == 3, "the last ones are refused")
        assert all(answer["error"]["code"] == -32600 for answer in agent.answers())
        assert len(await agent.approvals("pending")) == 100
        await agent.client.post(f"/api/sessions/{agent.session}/stop")
        await agent.client.wait_task(task)
