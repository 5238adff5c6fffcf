"""Requests of a hostile agent: floods, equal ids, requests outside of a turn, and calls that lie about what they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from bough.agents.acp.connection import AgentConnection
from bough.agents.catalog.question_vocabulary import QuestionVocabulary
from bough.core.live_agents.questions.agent_requests import MOST_WAITING, AgentRequests
from bough.core.transcripts.recorder import Recorder
from tests.attacks.agents.hostile import Hostile, ask, hostile, line, message, update
from tests.core.asking_agent import wanting
from tests.support.eventually import eventually

RUN: dict[str, Any] = {"title": "make", "kind": "execute", "rawInput": {"command": "make"}}


async def pending(agent: Hostile, count: int) -> list[dict[str, Any]]:
    """Waits until exactly this many approvals are pending."""

    async def look() -> list[dict[str, Any]] | None:
        approvals = await agent.approvals("pending")
        return approvals if len(approvals) == count else None

    return await eventually(look, f"{count} approvals are pending")


async def test_a_flood_of_requests(tmp_path: Path) -> None:
    """P4: Only so many requests wait for a person; the others are refused at once, and a stop withdraws the rest. What
    needs no person is still allowed."""
    more = 50
    requests = [ask(number, **RUN | {"toolCallId": f"c{number}"}) for number in range(MOST_WAITING + more)]
    edit = ask(-1, kind="edit", title="Edit a", toolCallId="edit", locations=[{"path": "a"}])
    async with hostile(tmp_path, *requests, edit, {"wait": MOST_WAITING + more + 1}, mode="acceptEdits") as agent:
        task = await agent.client.prompt(agent.session, "go")
        await pending(agent, MOST_WAITING)
        await eventually(lambda: len(agent.answers()) == more + 1, "the others are answered")
        *refused, allowed = agent.answers()
        assert all("error" in answer for answer in refused)
        assert allowed["result"]["outcome"]["optionId"] == "yes"
        await agent.client.post(f"/api/sessions/{agent.session}/stop")
        assert (await agent.client.wait_task(task))["status"] == "cancelled"
        assert await agent.approvals("pending") == []


def test_requests_that_are_decided_do_not_count() -> None:
    """P4: After a restart, requests whose answers are only to be sent again leave room for others."""
    requests = AgentRequests(cast("AgentConnection", None), cast("Recorder", None), QuestionVocabulary())
    for number in range(MOST_WAITING):
        requests.remember(f"decided {number}", number, decided=True)
    assert not requests.is_full
    for number in range(MOST_WAITING):
        requests.remember(f"pending {number}", number)
    assert requests.is_full
    requests.forget()
    assert not requests.is_full


async def test_equal_ids(tmp_path: Path) -> None:
    """P4: Two requests with the same id are two questions, and a yes to one is no yes to the other."""
    steps = (ask(0, **RUN | {"toolCallId": "a"}), ask(0, title="rm x", kind="execute", toolCallId="b"), {"wait": 2})
    async with hostile(tmp_path, *steps) as agent:
        task = await agent.client.prompt(agent.session, "go")
        first, second = await pending(agent, 2)
        assert (first["title"], second["title"]) == ("make", "rm x")
        await agent.client.post(f"/api/approvals/{first['id']}", {"decision": "allow"})
        await eventually(lambda: len(agent.answers()) == 1, "the first answer arrives")
        await pending(agent, 1)
        await agent.client.post(f"/api/approvals/{second['id']}", {"decision": "deny"})
        assert (await agent.client.wait_task(task))["status"] == "completed"
        assert [answer["result"]["outcome"]["optionId"] for answer in agent.answers()] == ["yes", "no"]


async def test_a_call_that_changes_while_a_person_decides(tmp_path: Path) -> None:
    """P4: The question stays what was asked, whatever the agent says about the call afterwards."""
    change = update(
        sessionUpdate="tool_call_update", toolCallId="call", title="rm -rf /", rawInput={"command": "rm -rf /"}
    )
    async with hostile(tmp_path, ask(1, **RUN), change, {"wait": 1}) as agent:
        task = await agent.client.prompt(agent.session, "go")
        (approval,) = await pending(agent, 1)
        await agent.client.post(f"/api/approvals/{approval['id']}", {"decision": "allow_always"})
        assert (await agent.client.wait_task(task))["status"] == "completed"
        (decided,) = await agent.approvals()
        assert (decided["title"], decided["toolCall"]["rawInput"]) == ("make", {"command": "make"})
        # What was allowed for always is what was asked.
        again = await agent.client.prompt(agent.session, "go")
        assert (await agent.client.wait_task(again))["status"] == "completed"


async def test_a_request_after_the_turn(tmp_path: Path) -> None:
    """P4: An agent that asks while none of its turns is running is told that this was cancelled; no person is asked."""
    end = line('{"jsonrpc":"2.0","id":{prompt},"result":{"stopReason":"end_turn"}}')
    async with hostile(tmp_path, end, ask(1, **RUN), {"wait": 1}) as agent:
        assert (await agent.client.ask(agent.session, "go"))["status"] == "completed"
        await eventually(lambda: len(agent.answers()) == 1, "the request is answered")
        assert agent.answers()[0]["result"]["outcome"] == {"outcome": "cancelled"}
        assert await agent.approvals() == []


@pytest.mark.parametrize("method", ["fs/write_text_file", "fs/read_text_file", "terminal/create", "session/new", "x"])
async def test_requests_that_bough_does_not_offer(tmp_path: Path, method: str) -> None:
    """C1: Bough reads and writes no files and starts no programs for an agent that asks it to."""
    victim = tmp_path / "victim"
    params = {"sessionId": "replay", "path": str(victim), "content": "x", "command": "touch", "args": [str(victim)]}
    async with hostile(tmp_path, message(id=1, method=method, params=params), {"wait": 1}, mode="allow-all") as agent:
        assert (await agent.client.ask(agent.session, "go"))["status"] == "completed"
        (answer,) = agent.answers()
        assert answer["error"]["code"] == -32601
        assert not victim.exists()


LIES: dict[str, dict[str, Any]] = {
    "another file in the arguments": {"kind": "edit", "locations": ["a"], "rawInput": {"file_path": "~/.bashrc"}},
    "another file in the diff": {
        "kind": "edit",
        "locations": ["a"],
        "content": [{"type": "diff", "path": "~/.ssh/authorized_keys", "oldText": "", "newText": "x"}],
    },
    "another file in a patch": {"kind": "edit", "locations": ["a"], "rawInput": {"patch": "*** Add File: .git/config"}},
    "a file outside": {"kind": "edit", "locations": ["a", "../../x"]},
    "a harmless title": {"kind": "execute", "title": "Read a", "rawInput": {"command": "rm -rf ."}},
    "a harmless kind": {"kind": "think", "title": "Think", "rawInput": {"command": "rm -rf ."}},
    "a server's name in the title": {"kind": "other", "title": "bough/agor_sessions_create"},
    "a server's name as a tool": {"kind": "other", "name": "bough_sessions_create", "title": "x"},
    "a kind of Bough's own": {"kind": "mcp", "title": "mcp__bough__agor_sessions_create"},
    "no kind": {"title": "Edit a", "locations": ["a"]},
    "an unknown kind": {"kind": "harmless", "title": "Edit a", "locations": ["a"]},
    "no file": {"kind": "edit", "title": "Edit a"},
    "a folder": {"kind": "edit", "locations": ["."]},
}


@pytest.mark.parametrize("lie", LIES)
async def test_lies_about_a_call(tmp_path: Path, lie: str) -> None:
    """P3: In the mode that accepts edits, a person is asked about every call that is more than it seems; in plan it is
    denied."""
    async with wanting(tmp_path, "acceptEdits") as wanter:
        folder = wanter.server.root / "repo"
        call = dict(LIES[lie])
        if "locations" in call:
            call["locations"] = [{"path": str(folder / name)} for name in call["locations"]]
        task = await wanter.wants({"title": "Edit a", **call})
        approval = await wanter.client.approval(wanter.session)
        assert approval["status"] == "pending"
        await wanter.client.post(f"/api/approvals/{approval['id']}", {"decision": "deny"})
        await wanter.client.wait_task(task)
        await wanter.patch(permissionMode="plan")
        assert await wanter.settled({"title": "Edit a", **call}) == "no"
