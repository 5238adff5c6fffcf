"""Tests what people see of an approval, which answers fit it, and how an answer reaches the agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.approvals.service import AnswerBody
from bough.errors import Denied
from bough.model.session import Caller
from tests.core.asking_agent import (
    NO_ONCE,
    RUN,
    Wanting,
    answers,
    prompts,
    wanting,
)


async def test_a_persons_reason_reaches_the_agent(tmp_path: Path) -> None:
    """P4: The protocol has no field for a reason, so the agent gets it with its next prompt, once."""
    async with wanting(tmp_path, "default") as wanter:
        task = await wanter.wants(RUN)
        approval = await wanter.client.approval(wanter.session)
        answer = {"decision": "deny", "because": "Not today."}
        await wanter.client.post(f"/api/approvals/{approval['id']}", answer)
        await wanter.client.wait_task(task)
        for _ in range(2):
            task = await wanter.wants(RUN)
            approval = await wanter.client.approval(wanter.session)
            await wanter.client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
            await wanter.client.wait_task(task)
        first, second, third = prompts(wanter.received)
        assert (len(first), len(second), len(third)) == (1, 2, 1)
        assert "make it: Not today." in second[0] and "A person denied" in second[0]


async def test_a_persons_decision_stays_with_the_tool_call(tmp_path: Path) -> None:
    """P4: The transcript records with a tool call who decided about it, how far an "always" reaches and why something
    was denied; the agent cannot change that."""
    async with wanting(tmp_path, "default") as wanter:
        answers = ({"decision": "allow_always", "scope": "worktree"}, {"decision": "deny", "because": "Not today."})
        approvals: list[str] = []
        for number, answer in enumerate(answers):
            task = await wanter.wants({"title": f"make {number}", "kind": "execute"})
            approval = await wanter.client.approval(wanter.session)
            approvals.append(approval["id"])
            await wanter.client.post(f"/api/approvals/{approval['id']}", answer)
            await wanter.client.wait_task(task)
        assert await wanter.permissions() == [
            {"decision": "allowed", "by": "person", "approvalId": approvals[0], "scope": "worktree"},
            {"decision": "denied", "by": "person", "approvalId": approvals[1], "because": "Not today."},
        ]


async def test_an_approval_says_why_and_shows_everything(tmp_path: Path) -> None:
    """P3, P4: The approval contains what the agent reported before it, and the rule that requires it."""
    async with wanting(tmp_path, "allow-all") as wanter:
        await wanter.rule("ask", path="/etc/**", note="careful")
        diff = {"type": "diff", "path": "/etc/x", "newText": "y"}
        task = await wanter.wants(
            {"title": "Edit files", "kind": "edit"}, before=[{"title": "Editing", "content": [diff]}]
        )
        approval = await wanter.client.approval(wanter.session)
        assert (approval["title"], approval["toolKind"]) == ("Edit files", "edit")
        assert approval["toolCall"]["content"] == [diff]
        assert "careful" in approval["reason"]
        assert (approval["expiresAt"], approval["onExpiry"]) == (None, None)
        await wanter.client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
        await wanter.client.wait_task(task)
        assert answers(wanter.received) == ["yes"]


async def test_an_agent_without_a_once_option_can_only_be_denied(tmp_path: Path) -> None:
    """P3: An agent that only offers *always* never gets that answer, neither from policy nor from a person."""
    async with wanting(tmp_path, "allow-all") as wanter:
        task = await wanter.wants(RUN, options=NO_ONCE)
        approval = await wanter.client.approval(wanter.session)
        path = f"/api/approvals/{approval['id']}"
        for answer in ({"decision": "allow"}, {"decision": "allow_always"}, {"optionId": "ever"}):
            refused = await wanter.client.post(path, answer, expect=409)
            assert refused["error"]["code"] == "no_once_option"
        await wanter.client.post(path, {"decision": "deny"})
        await wanter.client.wait_task(task)
        assert answers(wanter.received) == ["no"]


async def test_a_person_chooses_among_several_options(tmp_path: Path) -> None:
    """P4: Policy never picks the first of several options; the option that a person chooses is sent."""
    options = [{"optionId": item, "name": item, "kind": "allow_once"} for item in ("red", "blue")]
    options.append({"optionId": "no", "name": "no", "kind": "reject_once"})
    async with wanting(tmp_path, "allow-all") as wanter:
        task = await wanter.wants({"title": "Which?"}, options=options)
        approval = await wanter.client.approval(wanter.session)
        assert "several ways" in approval["reason"]
        path = f"/api/approvals/{approval['id']}"
        for answer in ({"decision": "allow"}, {"decision": "allow_always"}):
            assert (await wanter.client.post(path, answer, expect=409))["error"]["code"] == "no_once_option"
        assert (await wanter.client.post(path, {"optionId": "blue"}))["optionId"] == "blue"
        await wanter.client.wait_task(task)
        assert answers(wanter.received) == ["blue"]


async def test_an_odd_agent_does_not_affect_others(tmp_path: Path) -> None:
    """R4, P4: Odd reports about calls and costs affect neither the agent's own turn nor others."""
    async with wanting(tmp_path) as wanter:
        repo = (await wanter.get())["repoId"]
        beside = Wanting(wanter.server, (await wanter.client.session(repo, agent="wants"))["id"], wanter.received)
        usage = {"sessionUpdate": "usage_update", "cost": 5, "used": 1, "size": 2}
        odd = {"title": "x", "status": [], "_meta": [1]}
        tasks = [await wanter.wants(odd, before=[usage]), await beside.wants(RUN)]
        for session, decision in ((wanter, "deny"), (beside, "allow")):
            approval = await wanter.client.approval(session.session)
            await wanter.client.post(f"/api/approvals/{approval['id']}", {"decision": decision})
        assert [(await wanter.client.wait_task(task))["status"] for task in tasks] == ["completed", "completed"]
        assert sorted(answers(wanter.received)) == ["no", "yes"]


async def test_sessions_cannot_decide_approvals(tmp_path: Path) -> None:
    """5e: A session's token cannot allow what that session, or another, asks a person."""
    async with wanting(tmp_path) as wanter:
        await wanter.wants(RUN)
        approval = await wanter.client.approval(wanter.session)
        caller = Caller("session", wanter.session)
        with pytest.raises(Denied, match="people"):
            await wanter.server.services.approvals.decide(caller, approval["id"], AnswerBody(decision="allow"))
        assert (await wanter.rows())[0]["status"] == "pending"
