"""Tests an agent's questions over REST: shown as a form, checked field by field, answered once."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bough.core.store.sql import QUESTIONS
from bough.model.questions.form import StoredQuestion
from tests.api.error_responses import Json, refused
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.repos import make_repo
from tests.support.server import Running, ServerProcess, serving

FORM: Json = {
    "message": "How shall I deploy?",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2, "maxLength": 10, "description": "Of the service"},
        "mail": {"type": "string", "format": "email"},
        "port": {"type": "integer", "minimum": 1024, "maximum": 65535, "default": 8080},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "public": {"type": "boolean", "default": False},
        "region": {"type": "string", "oneOf": [{"const": "eu", "title": "Europe"}, {"const": "us", "title": "USA"}]},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 1, "maxItems": 2},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "key": {"type": "string", "format": "password"},
    },
    "required": ["name", "region"],
}


def directive(question: Json) -> str:
    return f"[[ask {json.dumps(question)}]]"


@dataclass
class Asking:
    """A session whose agent asks questions."""

    client: Client
    session: str

    async def ask(self, question: Json) -> tuple[str, Json]:
        """Makes the agent ask; returns the task and the approval."""
        task = await self.client.prompt(self.session, directive(question))
        return task, await self.client.approval(self.session)

    async def answer(self, approval: Json, **body: Any) -> Json:
        return await self.client.post(f"/api/approvals/{approval['id']}", body)

    async def quoted(self, task: str) -> str:
        """Returns what the agent says about the answer."""
        assert (await self.client.wait_task(task))["status"] == "completed"
        return (await self.client.texts(self.session))[-1]


@pytest.fixture
async def asking(server: Running) -> AsyncGenerator[Asking]:
    repo = await server.client.repo(server.repo())
    yield Asking(server.client, (await server.client.session(repo["id"]))["id"])


async def test_a_question_is_a_form_and_its_answer_reaches_the_agent(asking: Asking) -> None:
    """P4b: A question is listed with its form, the turn waits, and a valid answer reaches the agent with its types."""
    task, approval = await asking.ask(FORM)
    assert (approval["toolKind"], approval["title"], approval["status"]) == ("question", FORM["message"], "pending")
    assert (approval["answer"], approval["key"], approval["expiresAt"]) == (None, None, None)
    form = approval["toolCall"]
    assert (form["mode"], form["message"]) == ("form", FORM["message"])
    fields = {field["name"]: field for field in form["fields"]}
    assert list(fields) == list(FORM["properties"])
    assert fields["name"] == {
        **{"name": "name", "type": "text", "title": "Name", "description": "Of the service"},
        **{"required": True, "minLength": 2, "maxLength": 10},
    }
    assert (fields["port"]["type"], fields["port"]["default"], fields["public"]["default"]) == ("integer", 8080, False)
    assert fields["region"]["choices"] == [{"value": "eu", "title": "Europe"}, {"value": "us", "title": "USA"}]
    assert (fields["tags"]["type"], fields["tags"]["minItems"]) == ("choices", 1)
    assert (fields["key"]["type"], fields["key"]["secret"]) == ("text", True)
    assert [option["optionId"] for option in approval["options"]] == ["accept", "decline", "cancel"]
    assert (await asking.client.get(f"/api/tasks/{task}"))["status"] == "waiting_permission"
    assert (await asking.client.get(f"/api/sessions/{asking.session}"))["activity"] == "waiting_permission"
    content = {"name": "web", "port": 9000.0, "share": 0.5, "public": True, "region": "us", "tags": ["b", "a"]}
    decided = await asking.answer(approval, action="accept", content={**content, "code": "ABC"})
    assert (decided["status"], decided["decision"], decided["optionId"]) == ("allowed", "allow", "accept")
    expected = {**content, "port": 9000, "code": "ABC"}
    assert decided["answer"] == {"action": "accept", "content": expected}
    assert (
        await asking.quoted(task)
        == f"You answered accept {json.dumps(expected, sort_keys=True, separators=(',', ':'))}."
    )
    messages = await asking.client.get(f"/api/sessions/{asking.session}/messages")
    (note,) = [message["content"]["text"] for message in messages if message["content"]["type"] == "notice"]
    assert note.startswith("Answered: How shall I deploy?\n- Name: web\n") and "- public: yes" in note


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("name", None, "required"),
        ("name", "x", "at least 2"),
        ("name", "x" * 11, "at most 10"),
        ("name", 7, "a text"),
        ("name", "a\x07b", "control characters"),
        ("mail", "nobody", "an email address"),
        ("port", 80, "at least 1024"),
        ("port", 70000, "at most 65535"),
        ("port", 8080.5, "a whole number"),
        ("port", True, "a whole number"),
        ("share", "1", "a number"),
        ("share", 2, "at most 1"),
        ("public", "yes", "true or false"),
        ("region", "Europe", "one of: eu, us"),
        ("tags", "a", "a list"),
        ("tags", [], "at least 1"),
        ("tags", ["a", "b", "c"], "at most 2"),
        ("tags", ["d"], "one of: a, b, c"),
        ("code", "abc", "match the pattern ^[A-Z]{3}$"),
        ("other", 1, "no such field"),
    ],
)
async def test_an_answer_must_fit_the_form(asking: Asking, name: str, value: Any, sentence: str) -> None:
    """P4b: An answer that does not fit is refused with a sentence about the field, and the question stays open."""
    task, approval = await asking.ask(FORM)
    content = {"name": "web", "region": "eu", name: value}
    response = await asking.client.http.post(
        f"/api/approvals/{approval['id']}", json={"action": "accept", "content": content}
    )
    error = refused(response, 400, "bad_content")
    assert list(error["details"]["fields"]) == [name] and sentence in error["details"]["fields"][name]
    assert sentence in error["message"]
    assert (await asking.client.get(f"/api/approvals/{approval['id']}"))["status"] == "pending"
    await asking.answer(approval, action="decline")
    assert await asking.quoted(task) == "You answered decline."


async def test_the_forms_of_an_answer(asking: Asking) -> None:
    """P4b, L3: A question is answered by an action; a plain allow is refused, a plain deny declines, and the second
    answer comes too late."""
    client = asking.client
    task, approval = await asking.ask(FORM)
    path = f"/api/approvals/{approval['id']}"
    bodies: list[Json] = [
        {"decision": "allow"},
        {"decision": "allow_always"},
        {"action": "accept", "decision": "allow"},
        {"action": "decline", "content": {"name": "web"}},
        {"action": "accept", "content": {}, "arguments": {}},
        {"action": "open"},
        {"content": {}},
    ]
    for body in bodies:
        refused(await client.http.post(path, json=body), 400)
    decided = await client.post(path, {"decision": "deny", "because": "Not today."})
    assert (decided["status"], decided["answer"]) == ("denied", {"action": "decline"})
    refused(await client.http.post(path, json={"action": "cancel"}), 409, "approval_decided")
    assert await asking.quoted(task) == "You answered decline."
    task, approval = await asking.ask({"properties": {}, "message": "Ready?"})
    assert (await asking.answer(approval, action="cancel"))["answer"] == {"action": "cancel"}
    assert await asking.quoted(task) == "You answered cancel."
    # A request that is no question takes no action.
    await client.call("PATCH", f"/api/sessions/{asking.session}", json={"permissionMode": "ask"})
    task = await client.prompt(asking.session, "[[run true]]")
    approval = await client.approval(asking.session)
    refused(await client.http.post(f"/api/approvals/{approval['id']}", json={"action": "accept"}), 400, "bad_answer")
    await asking.answer(approval, decision="deny")
    await client.wait_task(task)


async def test_a_keyed_answer_counts_once(asking: Asking) -> None:
    """P4b, A4: An answer that is repeated with its key gets the first reply; another one with the key is refused."""
    task, approval = await asking.ask({"properties": {"a": {"type": "string"}}, "message": "?"})
    path, key = f"/api/approvals/{approval['id']}", {"idempotencyKey": "k1"}
    body = {"action": "accept", "content": {"a": "1"}, **key}
    first, second = await asyncio.gather(asking.client.post(path, body), asking.client.post(path, body))
    assert first == second
    refused(await asking.client.http.post(path, json={**body, "content": {"a": "2"}}), 409)
    assert await asking.quoted(task) == 'You answered accept {"a":"1"}.'


async def test_an_address_is_shown_with_its_host(asking: Asking) -> None:
    """P4b: A question about an address shows it whole with its host; accepting it says that a person has opened it."""
    task, approval = await asking.ask({"message": "Sign in.", "url": "https://login.example.com:8443/a?b=c"})
    form = approval["toolCall"]
    assert (form["mode"], form["host"]) == ("url", "login.example.com:8443")
    assert form["url"] == "https://login.example.com:8443/a?b=c"
    assert "Check its host" in approval["reason"]
    refused(
        await asking.client.http.post(
            f"/api/approvals/{approval['id']}", json={"action": "accept", "content": {"a": 1}}
        ),
        400,
    )
    assert (await asking.answer(approval, action="accept"))["answer"] == {"action": "accept"}
    assert await asking.quoted(task) == "You answered accept."


async def test_secrets_in_answers(server: Running) -> None:
    """P4b, R1: The agent gets a secret answer; no door, event or transcript shows it, not even when the agent repeats
    it or when it was also given in another field."""
    client = server.client
    repo = await client.repo(server.repo())
    session = (await client.session(repo["id"], env={"TOKEN": "tok-1234567890"}))["id"]
    asking = Asking(client, session)
    task, approval = await asking.ask(FORM)
    async with client.events(session) as events:
        content = {"name": "web", "region": "eu", "key": "hunter2-hunter2", "mail": "tok-1234567890@example.com"}
        decided = await asking.answer(approval, action="accept", content=content)
        patched = await events.until(lambda event: event["type"] == "approval.patched")
    assert decided["answer"]["content"]["key"] == "***"
    assert decided["answer"]["content"]["mail"] == "***@example.com"
    assert patched["data"] == decided
    assert '"key":"***"' in await asking.quoted(task)
    notes = json.dumps(
        [
            message["content"]
            for message in await client.get(f"/api/sessions/{session}/messages")
            if message["role"] == "system"
        ]
    )
    assert "hunter2" not in notes and "tok-1234567890" not in notes
    row = await server.services.store.read(lambda tx: tx.one(QUESTIONS.get, StoredQuestion, approval_id=approval["id"]))
    assert row is None


async def test_a_stopped_turn_withdraws_its_question(asking: Asking) -> None:
    """P4b: A question ends with its turn, and comes too late then."""
    task, approval = await asking.ask(FORM)
    await asking.client.post(f"/api/sessions/{asking.session}/stop")
    assert (await asking.client.wait_task(task))["status"] == "cancelled"
    assert (await asking.client.get(f"/api/approvals/{approval['id']}"))["status"] == "cancelled"
    refused(
        await asking.client.http.post(f"/api/approvals/{approval['id']}", json={"action": "decline"}),
        409,
        "approval_decided",
    )


@pytest.mark.parametrize(
    ("headless", "question", "action", "quote"),
    [
        ("deny", {"properties": {"a": {"type": "string", "default": "x"}}}, "decline", "You answered decline."),
        (
            "allow",
            {"properties": {"a": {"type": "string", "default": "x"}}},
            "accept",
            'You answered accept {"a":"x"}.',
        ),
        ("allow", {"properties": {"a": {"type": "string"}}}, "decline", "You answered decline."),
        (
            "allow",
            {"properties": {"a": {"type": "integer", "default": 1}, "b": {"type": "string"}}, "required": ["b"]},
            "decline",
            "You answered decline.",
        ),
        ("allow", {"url": "https://example.com"}, "decline", "You answered decline."),
    ],
)
async def test_unattended_questions(tmp_path: Path, headless: str, question: Json, action: str, quote: str) -> None:
    """P4b: Unattended, a question is declined at its deadline, or accepted with the agent's own whole proposal if the
    session is set to allow; nobody opens an address."""
    async with serving(tmp_path, approval_timeout=0.002) as server:
        repo = await server.client.repo(server.repo())
        session = (await server.client.session(repo["id"], headless=headless))["id"]
        asking = Asking(server.client, session)
        task = await server.client.prompt(session, directive({"message": "?", **question}))
        assert await asking.quoted(task) == quote
        (approval,) = (await server.client.get("/api/approvals"))["approvals"]
        assert (approval["status"], approval["answer"]["action"]) == ("expired", action)
        assert approval["decidedBy"]["kind"] == "policy" and "Nobody answered in time" in approval["reason"]


@pytest.mark.parametrize("before", ["pending", "answered"])
async def test_a_question_survives_a_kill(tmp_path: Path, before: str) -> None:
    """P4b, Q4, O2: A question stays open over a kill -9, and its answer reaches the same agent once, whether it is
    given before the kill or after."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            session = (await client.session(repo["id"]))["id"]
            task = await client.prompt(session, f"{directive(FORM)} [[say end]]")
            approval = await client.approval(session)
            body: Json = {"action": "accept", "content": {"name": "web", "region": "eu", "key": "hunter2-hunter2"}}
            if before == "answered":
                await client.post(f"/api/approvals/{approval['id']}", body)
        await server.stop(signal.SIGKILL)
        await server.start()
        async with server.client() as client:
            again = await client.get(f"/api/approvals/{approval['id']}")
            assert again["status"] == ("pending" if before == "pending" else "allowed")
            if before == "pending":
                await client.post(f"/api/approvals/{approval['id']}", body)
            ended = await client.wait_task(task)
            assert (ended["status"], ended["attempt"]) == ("completed", 1)
            (text,) = await client.texts(session)
            assert text.splitlines() == [
                'You answered accept {"key":"***","name":"web","region":"eu"}.',
                "end",
            ]


async def test_a_pattern_that_takes_forever(asking: Asking) -> None:
    """P4b: A regular expression of an agent cannot stop the server, which answers others meanwhile; what it cannot
    decide in time is accepted."""
    question = {"message": "?", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    task, approval = await asking.ask(question)
    answering = asyncio.create_task(asking.answer(approval, action="accept", content={"a": "a" * 60 + "!"}))
    answers = 0

    async def decided() -> bool:
        nonlocal answers
        await asking.client.get("/api/health")
        answers += not answering.done()
        return answering.done()

    await eventually(decided, "the answer is decided")
    assert (await answering)["status"] == "allowed"
    # A server that the pattern stopped would have answered at most one request, before it began.
    assert answers > 1
    assert "!" in await asking.quoted(task)
