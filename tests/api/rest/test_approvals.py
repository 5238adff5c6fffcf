"""Tests approvals over REST: listed, decided once, remembered exactly, and withdrawn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.api.error_responses import NOBODY, Json, refused
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.server import Running


@dataclass
class Asking:
    """A session whose agent asks before everything."""

    client: Client
    session: Json
    server: Running

    async def question(self, text: str) -> tuple[str, Json]:
        """Sends a prompt that makes the agent ask; returns the task and the approval."""
        task = await self.client.prompt(self.session["id"], text)
        return task, await self.client.approval(self.session["id"])

    async def total(self, query: str = "") -> int:
        return (await self.client.get(f"/api/approvals?{query}"))["total"]

    def there(self, name: str) -> bool:
        return (self.server.root / "repo" / name).exists()


@pytest.fixture
async def asking(server: Running) -> AsyncGenerator[Asking]:
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"], permissionMode="ask")
    yield Asking(server.client, session, server)


async def test_an_approval_is_read_and_decided(asking: Asking) -> None:
    """P4, L3: An approval can be read while its turn waits, and the decided approval says what was decided and by
    whom."""
    client = asking.client
    task, approval = await asking.question("[[run touch made]]")
    assert approval.keys() == {
        *("id", "sessionId", "taskId", "attempt", "status", "title", "toolKind", "toolCall", "options", "optionId"),
        *("decision", "decidedBy", "requestId", "createdAt", "updatedAt", "decidedAt", "expiresAt", "onExpiry"),
        *("reason", "key", "answer"),
    }
    assert "ask" in approval["reason"] and (approval["expiresAt"], approval["onExpiry"]) == (None, None)
    assert (approval["status"], approval["sessionId"]) == ("pending", asking.session["id"])
    assert (approval["taskId"], approval["toolKind"]) == (task, "execute")
    assert "touch made" in approval["title"]
    assert {option["kind"] for option in approval["options"]} >= {"allow_once", "reject_once"}
    assert (await client.get(f"/api/tasks/{task}"))["status"] == "waiting_permission"
    assert (await client.get(f"/api/sessions/{asking.session['id']}"))["activity"] == "waiting_permission"
    assert await client.get(f"/api/approvals/{approval['id']}") == approval
    assert not asking.there("made")
    async with client.events(asking.session["id"]) as events:
        answer = await client.http.post(f"/api/approvals/{approval['id']}", json={"decision": "allow"})
        assert answer.status_code == 200
        patched = await events.until(lambda event: event["type"] == "approval.patched")
    decided = answer.json()
    assert patched["data"] == decided
    assert (decided["status"], decided["decision"]) == ("allowed", "allow")
    assert decided["decidedBy"] == {"kind": "person", "id": None}
    assert decided["decidedAt"] is not None
    assert (await client.wait_task(task))["status"] == "completed"
    assert asking.there("made")


async def test_lists_of_approvals(asking: Asking) -> None:
    """L3: Approvals are listed oldest first and filtered by status and session; invalid filters are refused."""
    client = asking.client
    made: list[str] = []
    for decision in ("allow", "deny", None):
        task, approval = await asking.question(f"[[run true {decision}]]")
        made.append(approval["id"])
        if decision is not None:
            await client.post(f"/api/approvals/{approval['id']}", {"decision": decision})
            await client.wait_task(task)
    page = await client.get("/api/approvals")
    assert page.keys() == {"approvals", "total", "limit", "offset"}
    assert [item["id"] for item in page["approvals"]] == made
    waiting = await client.get("/api/approvals?status=pending")
    assert [item["id"] for item in waiting["approvals"]] == made[2:]
    assert await asking.total("status=allowed,denied") == 2
    assert await asking.total(f"status=denied&sessionId={asking.session['id'][-8:]}") == 1
    assert [item["id"] for item in (await client.get("/api/approvals?limit=1&offset=1"))["approvals"]] == [made[1]]
    for query in ("status=open", "status=,", "limit=0", "sessionId=x"):
        refused(await client.http.get(f"/api/approvals?{query}"), 400)
    refused(await client.http.get(f"/api/approvals?sessionId={NOBODY}"), 404)
    refused(await client.http.get(f"/api/approvals/{NOBODY}"), 404, "approval_not_found")


async def test_an_answer_is_one_of_the_options(asking: Asking) -> None:
    """L3: An answer is either one of the agent's options or a decision; an invalid answer leaves the approval
    pending."""
    client = asking.client
    task, approval = await asking.question("[[run touch made]]")
    path = f"/api/approvals/{approval['id']}"
    option = {item["kind"]: item["optionId"] for item in approval["options"]}
    for body, code in (
        ({}, "bad_answer"),
        ({"decision": "allow", "optionId": option["allow_once"]}, "bad_answer"),
        ({"optionId": "nonsense"}, "unknown_option"),
        ({"optionId": ""}, "unknown_option"),
        ({"decision": "perhaps"}, "bad_request"),
        ({"decision": True}, "bad_request"),
    ):
        refused(await client.http.post(path, json=body), 400, code)
    refused(await client.http.post(f"/api/approvals/{NOBODY}", json={"decision": "deny"}), 404, "approval_not_found")
    assert (await client.get(path))["status"] == "pending"
    denied = await client.post(path, {"optionId": option["reject_once"]})
    assert (denied["status"], denied["decision"], denied["optionId"]) == ("denied", "deny", option["reject_once"])
    await client.wait_task(task)
    assert not asking.there("made")


async def test_the_first_answer_wins(asking: Asking) -> None:
    """P4: If several answers arrive at once, one is accepted and the others learn what was decided."""
    client = asking.client
    task, approval = await asking.question("[[run touch made]]")
    path = f"/api/approvals/{approval['id']}"
    wishes = ["allow", "deny"] * 5
    answers = await asyncio.gather(*(client.http.post(path, json={"decision": wish}) for wish in wishes))
    (taken,) = [answer.json() for answer in answers if answer.status_code == 200]
    late = [answer for answer in answers if answer.status_code != 200]
    assert len(late) == len(wishes) - 1
    for answer in late:
        error = refused(answer, 409, "approval_decided")
        assert error["details"] == {"status": taken["status"], "decidedBy": taken["decidedBy"]}
        assert "a person was first" in error["message"]
    assert await client.get(path) == taken
    await client.wait_task(task)
    assert asking.there("made") == (taken["decision"] == "allow")


async def test_always_applies_to_that_exact_command(asking: Asking) -> None:
    """P3: Bough remembers an *always* answer and applies it to the same command, not to one that only looks like it."""
    client = asking.client
    long = "x" * 600
    for command, alike in (
        ("echo one", "echo two"),
        ("echo a touch made", "echo a\ntouch made"),
        ("echo  a", "echo a"),
        (f"echo {long}", f"echo {long}; touch made"),
    ):
        task, approval = await asking.question(f"[[run {command}]]")
        answer = await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow_always"})
        chosen = next(option for option in approval["options"] if option["optionId"] == answer["optionId"])
        assert chosen["kind"] == "allow_once", "the agent itself is never told always"
        assert (await client.wait_task(task))["status"] == "completed"
        before = await asking.total()
        assert (await client.ask(asking.session["id"], f"[[run {command}]]"))["status"] == "completed"
        assert await asking.total() == before
        task, approval = await asking.question(f"[[run {alike}]]")
        await client.post(f"/api/approvals/{approval['id']}", {"decision": "deny"})
        await client.wait_task(task)
    assert not asking.there("made")
    assert len((await client.get(f"/api/sessions/{asking.session['id']}"))["allowedTools"]) == 4


async def test_always_for_an_edit_applies_to_the_file(asking: Asking) -> None:
    """P3: An *always* answer to an edit applies to that file whatever is written; another file needs its own
    approval."""
    client = asking.client
    task, approval = await asking.question("[[write one.txt a]]")
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow_always"})
    await client.wait_task(task)
    assert (await client.ask(asking.session["id"], "[[write one.txt b]]"))["status"] == "completed"
    assert (asking.server.root / "repo" / "one.txt").read_text() == "b"
    task, approval = await asking.question("[[write two.txt a]]")
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "deny"})
    await client.wait_task(task)
    assert not asking.there("two.txt")


async def test_scope_of_an_always_answer(asking: Asking) -> None:
    """P3: An *always* answer applies to the session by default; only *always* takes a scope, and an invalid one is
    refused."""
    client = asking.client
    task, approval = await asking.question("[[run true]]")
    path = f"/api/approvals/{approval['id']}"
    option = {item["kind"]: item["optionId"] for item in approval["options"]}
    for body, code in (
        ({"decision": "allow", "scope": "session"}, "bad_answer"),
        ({"decision": "deny", "scope": "everywhere"}, "bad_answer"),
        ({"optionId": option["allow_once"], "scope": "worktree"}, "bad_answer"),
        ({"scope": "session"}, "bad_answer"),
        ({"decision": "allow_always", "scope": "moon"}, "bad_request"),
    ):
        refused(await client.http.post(path, json=body), 400, code)
    assert (await client.get(path))["status"] == "pending"
    async with client.events() as events:
        await client.post(path, {"optionId": option["allow_always"], "scope": "everywhere"})
        made = (await events.until(lambda event: event["type"] == "choice.created"))["data"]
    assert (made["scope"], made["sessionId"], made["cwd"]) == ("everywhere", None, None)
    assert (made["key"], made["agent"], made["approvalId"]) == (approval["key"], "demo", approval["id"])
    assert made["decidedBy"] == {"kind": "person", "id": None, "scope": "everywhere"}
    await client.wait_task(task)
    assert (await client.get(f"/api/sessions/{asking.session['id']}"))["allowedTools"] == []
    other = await client.session(asking.session["repoId"], permissionMode="ask")
    assert (await client.ask(other["id"], "[[run true]]"))["status"] == "completed"
    task, approval = await asking.question("[[run echo here]]")
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow_always"})
    await client.wait_task(task)
    assert (await client.get(f"/api/sessions/{asking.session['id']}"))["allowedTools"] == [approval["key"]]


async def test_the_timeout_is_set_per_session(asking: Asking) -> None:
    """P4: A session's own `approvalTimeout` decides when its approvals expire; open ones are rescheduled, forks and
    children inherit it, and null means the server's setting."""
    client, path = asking.client, f"/api/sessions/{asking.session['id']}"
    assert asking.session["approvalTimeout"] is None
    await client.call("PATCH", path, json={"headless": "deny", "approvalTimeout": 600})
    await client.prompt(asking.session["id"], "[[run true]]")
    asked = await client.approval(asking.session["id"])

    async def minutes_left() -> float:
        approval = await client.get(f"/api/approvals/{asked['id']}")
        return (datetime.fromisoformat(approval["expiresAt"]) - datetime.now(UTC)).total_seconds() / 60

    assert 590 < await minutes_left() <= 600
    await client.call("PATCH", path, json={"approvalTimeout": None})
    assert 5 < await minutes_left() <= 10
    await client.call("PATCH", path, json={"approvalTimeout": 0.001})
    decided = await eventually(lambda: _expired(client, asked["id"]))
    assert (decided["status"], decided["decision"]) == ("expired", "deny")
    await client.call("PATCH", path, json={"approvalTimeout": 7.5})
    for kind, body in (("fork", {}), ("spawn", {"prompt": "hello"})):
        made = await client.post(f"{path}/{kind}", body, expect=201)
        assert (await client.get(f"/api/sessions/{made['sessionId']}"))["approvalTimeout"] == 7.5
        made = await client.post(f"{path}/{kind}", {**body, "approvalTimeout": 3}, expect=201)
        assert (await client.get(f"/api/sessions/{made['sessionId']}"))["approvalTimeout"] == 3
    opened = await client.session(asking.session["repoId"], approvalTimeout=1)
    assert opened["approvalTimeout"] == 1
    for wrong in (0, -1, "soon", 1e9):
        refused(await client.http.patch(path, json={"approvalTimeout": wrong}), 400, "bad_request")


async def _expired(client: Client, approval_id: str) -> dict[str, Any] | None:
    approval = await client.get(f"/api/approvals/{approval_id}")
    return approval if approval["status"] != "pending" else None


async def test_headless_is_set_per_session(asking: Asking) -> None:
    """P4: `headless` can be set when a session is created and changed later; null means the server's setting."""
    client = asking.client
    assert asking.session["headless"] is None
    path = f"/api/sessions/{asking.session['id']}"
    for value in ("deny", "allow", "wait", None):
        assert (await client.call("PATCH", path, json={"headless": value}))["headless"] == value
        opened = await client.session(asking.session["repoId"], headless=value)
        assert opened["headless"] == value
        await client.call("DELETE", f"/api/sessions/{opened['id']}")
    refused(await client.http.patch(path, json={"headless": "perhaps"}), 400, "bad_request")
    await client.call("PATCH", path, json={"headless": "deny"})
    _, approval = await asking.question("[[run touch made]]")
    assert approval["onExpiry"] == "deny" and approval["expiresAt"] > approval["createdAt"]


async def test_an_approval_ends_with_its_turn(asking: Asking) -> None:
    """P4, T3: An approval is withdrawn when its turn ends; it can no longer be answered, and the tool does not run."""
    client = asking.client
    for end in ("stop", "delete"):
        task, approval = await asking.question("[[run touch made]]")
        if end == "stop":
            await client.post(f"/api/sessions/{asking.session['id']}/stop")
        else:
            await client.call("DELETE", f"/api/sessions/{asking.session['id']}")
        assert (await client.wait_task(task))["status"] == "cancelled"
        withdrawn = await client.get(f"/api/approvals/{approval['id']}")
        assert (withdrawn["status"], withdrawn["decision"]) == ("cancelled", None)
        assert withdrawn["decidedBy"] == {"kind": "system", "id": None}
        answer = await client.http.post(f"/api/approvals/{approval['id']}", json={"decision": "allow"})
        assert refused(answer, 409, "approval_decided")["details"]["status"] == "cancelled"
        assert await asking.total("status=pending") == 0
    assert not asking.there("made")
