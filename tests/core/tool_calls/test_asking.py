"""Tests calls that wait for a person (5d): a decision within the wait is the call's answer; a later one is carried out
once and its outcome is queued. `test_tool_rights_asking` tests which calls need no approval."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from bough.core.store import records
from bough.core.store.sql import CALLS
from bough.core.tool_calls import service
from tests.support.client import Json
from tests.support.eventually import PATIENCE as PATIENT
from tests.support.eventually import eventually
from tests.support.faults.database_faults import failing
from tests.support.mcp.tool_caller import Agent
from tests.support.mcp.tool_server import PATIENCE, ToolServer, tool_server

SPAWN = "agor_sessions_spawn"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[ToolServer]:
    async with tool_server(tmp_path) as tool_host:
        yield tool_host


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes calls wait for people only for a moment."""
    monkeypatch.setattr(service, "PATIENCE", PATIENCE)


async def waiting(
    place: ToolServer, agent: Agent, tool: str = SPAWN, **arguments: Any
) -> tuple[asyncio.Task[Any], Json]:
    """Starts a call that waits for a person, and returns it with the approval."""
    call = asyncio.create_task(agent.call(tool, **arguments))
    return call, await place.client.approval(agent.id)


async def children(place: ToolServer, parent: str) -> list[Json]:
    return (await place.client.get(f"/api/sessions?parentId={parent}&limit=200"))["sessions"]


async def only_outcome(place: ToolServer, session: str) -> Json:
    """Waits for the only outcome that a session receives, and returns its entry in the transcript or the queue."""

    async def outcomes() -> list[Json]:
        messages = await place.client.get(f"/api/sessions/{session}/messages")
        return [message for message in messages if message["content"]["type"] == "outcome"]

    async with place.client.events() as events:
        (outcome,) = await eventually(outcomes, "the session receives an outcome", changed=events.next)
    return outcome


async def test_allowed_within_the_wait(place: ToolServer) -> None:
    """5d: The outcome is the answer; meanwhile the session shows that it waits, and afterwards nothing is queued."""
    agent = await place.root()
    call, approval = await waiting(place, agent, prompt="hello", title="kid")
    assert approval["title"] == "Spawn a child with demo in mode default: 'kid'?"
    assert approval["toolKind"] == "call" and approval["toolCall"]["arguments"] == {"prompt": "hello", "title": "kid"}
    assert (await place.get(agent.id))["activity"] == "waiting_permission"
    assert await children(place, agent.id) == []
    await place.decide(approval["id"])
    answer = await call
    [child] = await children(place, agent.id)
    assert answer.value["sessionId"] == child["id"] and not answer.wrong
    assert (await place.get(agent.id))["activity"] == "running"
    [row] = (await place.server.services.calls.list(agent.id, 10, 0)).rows
    assert (row.state, row.told_task_id, row.granted, row.task_id) == ("done", None, True, agent.task_id)


async def test_an_allowed_call_whose_read_failed(place: ToolServer) -> None:
    """5d, Q4: It is carried out as soon as the database works."""
    agent = await place.root()
    call, approval = await waiting(place, agent, prompt="hello")
    with failing(place.server.services.store.db, "read", CALLS.get, 2):
        await place.decide(approval["id"])
        assert not (await call).wrong
    assert len(await children(place, agent.id)) == 1


async def test_an_answered_call_that_could_not_be_marked(place: ToolServer) -> None:
    """5d, Q4: A second call with the same words is not taken for a repeat, because the first outcome was received."""
    agent = await place.root("bypassPermissions")
    with failing(place.server.services.store.db, "transaction", CALLS.answered, 2) as failures:
        assert not (await agent.call(SPAWN, prompt="hello")).wrong
        await failures.over()

    async def is_marked() -> bool:
        [row] = (await place.server.services.calls.list(agent.id, 10, 0)).rows
        return row.answered_at is not None

    await eventually(is_marked, "the outcome is marked as received")
    assert not (await agent.call(SPAWN, prompt="hello")).wrong
    assert len(await children(place, agent.id)) == 2


async def test_denied_within_the_wait(place: ToolServer) -> None:
    """5e: A denial is a clear tool error, and nothing is done."""
    agent = await place.root()
    call, approval = await waiting(place, agent, prompt="hello")
    await place.decide(approval["id"], "deny")
    answer = await call
    assert answer.wrong and "A person has denied this" in answer.text and "call_denied" in answer.text
    assert await children(place, agent.id) == []


async def test_the_reason_for_a_denial_reaches_the_agent(place: ToolServer) -> None:
    """5e: The agent gets a person's reason; other decisions accept none."""
    agent = await place.root()
    call, approval = await waiting(place, agent, prompt="hello")
    path = f"/api/approvals/{approval['id']}"
    for body in ({"decision": "allow", "because": "fine"}, {"decision": "deny", "because": "\x1b[2J"}):
        refused = await place.client.post(path, body, expect=400)
        assert refused["error"]["code"] == "bad_answer"
    decided = await place.decide(approval["id"], "deny", because="Not on a\nFriday.")
    assert decided["decidedBy"] == {"kind": "person", "id": None, "because": "Not on a Friday."}
    answer = await call
    assert answer.wrong and "A person has denied this: Not on a Friday." in answer.text


@pytest.mark.usefixtures("impatient")
async def test_pending_calls_are_limited(place: ToolServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """5d: Only a limited number of calls wait for a person; a decision makes room."""
    monkeypatch.setattr(service, "MOST_ASKED", 2)
    agent = await place.root()
    first = await place.asked(agent, SPAWN, prompt="one")
    await place.asked(agent, SPAWN, prompt="two")
    assert "too_many_asked" in await place.refused(agent, SPAWN, prompt="three")
    await place.decide(first["id"], "deny")
    await place.asked(agent, SPAWN, prompt="three")


@pytest.mark.usefixtures("impatient")
async def test_decided_after_the_wait(place: ToolServer) -> None:
    """5d: The caller gets a handle; a call that is allowed later runs once, and its outcome is queued to the caller."""
    agent = await place.root()
    answer = await agent.does(SPAWN, prompt="hello", title="kid", enableCallback=False)
    approval = answer["approvalId"]
    assert answer["status"] == "pending" and (await place.get(agent.id))["activity"] == "running"
    await place.decide(approval)
    shown = await only_outcome(place, agent.id)
    [child] = await children(place, agent.id)
    assert child["id"] in shown["content"]["text"] and "was allowed and is done" in shown["content"]["text"]
    task = await place.client.get(f"/api/tasks/{shown['taskId']}")
    assert (task["source"], task["status"]) == ("callback", "queued")
    # The agent gets it when its turn is over, quoted.
    await place.client.post(f"/api/sessions/{agent.id}/stop")
    await place.client.post(f"/api/sessions/{agent.id}/resume")
    assert (await place.client.wait_task(task["id"]))["status"] == "completed"
    again = await place.client.post(f"/api/approvals/{approval}", {"decision": "allow"}, expect=409)
    assert again["error"]["code"] == "approval_decided"
    assert len(await children(place, agent.id)) == 1


@pytest.mark.usefixtures("impatient")
async def test_denied_after_the_wait(place: ToolServer) -> None:
    """5d: A later denial is queued to the caller, too."""
    agent = await place.root()
    answer = await agent.does(SPAWN, prompt="hello")
    await place.decide(answer["approvalId"], "deny")
    shown = await only_outcome(place, agent.id)
    assert "was denied" in shown["content"]["text"] and shown["content"]["status"] == "denied"
    assert await children(place, agent.id) == []


@pytest.mark.usefixtures("impatient")
async def test_outcomes_for_suspended_and_ended_sessions(tmp_path: Path) -> None:
    """5d: Wakes a suspended agent for an outcome; an ended session only shows it."""
    async with tool_server(tmp_path, sleep_after=0.2) as place:
        prompt = f"[[mcp {SPAWN} {json.dumps({'prompt': 'hello', 'enableCallback': False})}]]"
        session = await place.session()
        task = await place.client.ask(session, prompt)
        assert task["status"] == "completed" and "pending" in (await place.client.texts(session))[-1]
        agents = place.server.services.runner.agents
        await eventually(lambda: agents.get(session) is None, "the agent is suspended")
        [approval] = await place.pending()
        await place.decide(approval["id"])
        shown = await only_outcome(place, session)
        assert (await place.client.wait_task(shown["taskId"]))["status"] == "completed"
        assert len(await children(place, session)) == 1


async def test_allowed_when_the_caller_has_just_ended(place: ToolServer) -> None:
    """5d: A call that is running when its session ends is completed, and the session shows the outcome."""
    agent = await place.root()
    call, approval = await waiting(place, agent, prompt="hello", enableCallback=False)
    call.cancel()
    await asyncio.wait([call])
    deeds = place.server.services.calls._executor._actions  # pyright: ignore[reportPrivateUsage]
    begun, go_on = asyncio.Event(), asyncio.Event()
    original = deeds[SPAWN]

    async def slowly(caller: Any, arguments: Any) -> Any:
        begun.set()
        await go_on.wait()
        return await original.act(caller, arguments)

    place.server.services.calls.provide({**deeds, SPAWN: type(original)(original.claim, slowly)})
    await place.decide(approval["id"])
    await begun.wait()
    await place.client.post(f"/api/sessions/{agent.id}/complete", {"force": True})
    go_on.set()
    shown = await only_outcome(place, agent.id)
    assert shown["taskId"] is None and "is done" in shown["content"]["text"]
    assert (await place.get(agent.id))["status"] == "completed"


async def test_a_person_changes_the_arguments(place: ToolServer) -> None:
    """5d: Runs the call with the person's arguments; invalid ones are refused at once."""
    agent = await place.root()
    call, approval = await waiting(place, agent, prompt="hello", title="kid")
    path = f"/api/approvals/{approval['id']}"
    for wrong in ({"prompt": 1}, {"title": "x"}, {"prompt": "x", "worktreeId": "0000"}, {"prompt": "x", "odd": 1}):
        answer = await place.client.http.post(path, json={"decision": "allow", "arguments": wrong})
        assert answer.status_code in (400, 404), answer.text
    denied = await place.client.post(path, {"decision": "deny", "arguments": {"prompt": "x"}}, expect=400)
    assert denied["error"]["code"] == "bad_answer"
    changed = {"prompt": "hello", "title": "other", "permissionMode": "acceptEdits"}
    await place.decide(approval["id"], arguments=changed)
    assert not (await call).wrong
    [child] = await children(place, agent.id)
    assert (child["title"], child["permissionMode"]) == ("other", "acceptEdits")


async def test_masked_arguments(place: ToolServer) -> None:
    """R1: An argument with a secret value keeps it if it is left as it was shown, and cannot be changed around it."""
    secret = "heron-4711-grey-wing"
    agent = await place.root(env={"KEY": secret})
    call, approval = await waiting(place, agent, prompt=f"use {secret}", title="kid")
    assert approval["toolCall"]["arguments"] == {"prompt": "use ***", "title": "kid"}
    path = f"/api/approvals/{approval['id']}"
    body = {"decision": "allow", "arguments": {"prompt": "please use ***", "title": "kid"}}
    refused = await place.client.post(path, body, expect=400)
    assert refused["error"]["code"] == "masked_argument"
    await place.decide(approval["id"], arguments={"prompt": "use ***", "title": "other"})
    assert not (await call).wrong
    [child] = await children(place, agent.id)
    [task] = (await place.client.get(f"/api/sessions/{child['id']}/tasks"))["tasks"]
    assert (child["title"], task["prompt"]) == ("other", "use ***")
    sent = await place.server.services.store.read(lambda tx: records.task(tx, task["id"]))
    assert sent.prompt == f"use {secret}"


@pytest.mark.parametrize(("headless", "done"), [("deny", 0), ("allow", 1)])
async def test_nobody_answers_in_time(tmp_path: Path, headless: str, done: int) -> None:
    """P4: The session's default answer applies, but never to a call that raises rights."""
    async with tool_server(tmp_path, approval_timeout=0.2 / 60) as place:
        agent = await place.root(headless=headless)
        answer = await agent.call(SPAWN, prompt="hello", enableCallback=False)
        assert answer.wrong == (not done), answer.text
        raised = await agent.fails(SPAWN, prompt="hello", permissionMode="bypassPermissions")
        assert "call_denied" in raised
        assert len(await children(place, agent.id)) == done
        approvals = (await place.client.get("/api/approvals"))["approvals"]
        assert [item["status"] for item in approvals] == ["expired", "expired"]


@pytest.mark.usefixtures("impatient")
async def test_a_default_answer_is_checked_again(tmp_path: Path) -> None:
    """5e: Rules that were added and rights that have grown since the question count when the default answer applies."""
    async with tool_server(tmp_path, approval_timeout=60) as place:
        parent = await place.session(headless="allow")
        sibling = await place.child(parent)
        agent = await place.agent(parent)
        await agent.does("send_to_session", sessionId=sibling, message="one")
        await agent.does("agor_sessions_update", sessionId=sibling, title="Two")
        await place.client.call("PATCH", f"/api/sessions/{sibling}", json={"permissionMode": "bypassPermissions"})
        await place.rule("deny", "bough/agor_sessions_update")
        await place.client.call("PATCH", f"/api/sessions/{parent}", json={"approvalTimeout": 0.001})
        async with asyncio.timeout(PATIENT), place.client.events() as events:
            while any(row.state in ("asked", "acting") for row in await rows(place, agent.id)):
                await events.next()
        calls = await rows(place, agent.id)
        assert [item.state for item in calls] == ["failed", "failed"], calls
        assert all(b"call_denied" in bytes(item.outcome or b"") for item in calls)
        tasks = (await place.client.get(f"/api/sessions/{sibling}/tasks"))["tasks"]
        assert [task["prompt"] for task in tasks] == ["hello"]


async def rows(place: ToolServer, session: str) -> list[Any]:
    return (await place.server.services.calls.list(session, 50, 0)).rows


@pytest.mark.parametrize("how", ["stop", "complete"])
async def test_withdrawn_with_the_turn_and_with_the_session(place: ToolServer, how: str) -> None:
    """5d: A call whose turn or session has ended is withdrawn and cannot be allowed."""
    agent = await place.root()
    call, approval = await waiting(place, agent, prompt="hello")
    body = {"force": True} if how == "complete" else {}
    await place.client.post(f"/api/sessions/{agent.id}/{how}", body)
    answer = await call
    assert answer.wrong and "call_withdrawn" in answer.text
    withdrawn = await place.client.get(f"/api/approvals/{approval['id']}")
    assert withdrawn["status"] == "cancelled"
    await place.client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"}, expect=409)
    assert await children(place, agent.id) == []


async def test_always_allows_equal_pending_calls(place: ToolServer) -> None:
    """5d: An *always* also allows the other pending calls that it covers; those that raise rights stay pending."""
    agent = await place.root()
    alike = [asyncio.create_task(agent.call(SPAWN, prompt=f"hello {number}")) for number in range(3)]
    raising = asyncio.create_task(agent.call(SPAWN, prompt="x", permissionMode="auto"))
    async with asyncio.timeout(PATIENT), place.client.events() as events:
        while len(await place.pending()) < 4:
            await events.next()
    first = next(item for item in await place.pending() if "auto" not in item["title"])
    await place.decide(first["id"], "allow_always")
    assert not any(answer.wrong for answer in await asyncio.gather(*alike))
    [remaining] = await place.pending()
    assert "auto" in remaining["title"] and (await place.get(agent.id))["activity"] == "waiting_permission"
    # From now on this session is not asked about it, but others are.
    assert not (await agent.call(SPAWN, prompt="hello again")).wrong
    await place.decide(remaining["id"], "deny")
    assert (await raising).wrong
    assert len(await children(place, agent.id)) == 4


async def test_nobody_is_asked_twice(place: ToolServer) -> None:
    """5d: Bough answers the agent's own question before it calls Bough's server."""
    session = await place.session()
    prompt = f"[[mcp {SPAWN} {json.dumps({'prompt': 'hello', 'enableCallback': False})}]]"
    task = await place.client.prompt(session, prompt)
    approval = await place.client.approval(session)
    assert approval["toolKind"] == "call"
    await place.decide(approval["id"])
    assert (await place.client.wait_task(task))["status"] == "completed"
    approvals = (await place.client.get(f"/api/approvals?sessionId={session}"))["approvals"]
    assert [item["toolKind"] for item in approvals if item["decidedBy"] and item["decidedBy"]["kind"] == "person"] == [
        "call"
    ]
    assert len(await children(place, session)) == 1
