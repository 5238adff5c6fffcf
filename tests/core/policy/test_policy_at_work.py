"""Tests how policy's answers by mode, rule, remembered choice and timeout reach agents, rows and transcripts. The unit
tests check the decisions themselves."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bough.core.approvals.service import AnswerBody
from bough.core.policy.rules import NewRule
from bough.errors import Denied
from bough.model.session import Caller
from tests.core.helpers import add_agent, messages, open_in
from tests.support.client import Client, Json
from tests.support.server import Running, ServerProcess, serving

RUN: Json = {"title": "make it", "kind": "execute", "rawInput": {"command": "make it"}}
LEAVE: Json = {"title": "Ready to code?", "kind": "switch_mode"}
NO_ONCE = [
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "Deny", "kind": "reject_once"},
]
POLICY = {"kind": "policy", "id": None}
# In minutes, a twentieth of a second.
SOON = 0.05 / 60
LATER = 60.0


def add_wanting(folder: Path) -> Path:
    received = folder / "heard"
    add_agent(
        folder, "wants", ["{python}", "-m", "tests.support.misbehaving_agents.requests_permission", str(received)]
    )
    return received


def answers(received: Path) -> list[str]:
    lines = [json.loads(line) for line in received.read_text().splitlines()]
    return [line["answer"] for line in lines if "answer" in line]


def prompts(received: Path) -> list[list[str]]:
    lines = [json.loads(line) for line in received.read_text().splitlines()]
    return [line["prompt"] for line in lines if "prompt" in line]


@dataclass
class Wanting:
    """A session whose agent asks for whatever its prompt says, and the file where it records the answers."""

    server: Running
    session: str
    received: Path

    @property
    def client(self) -> Client:
        return self.server.client

    async def wants(self, call: Json, **more: Any) -> str:
        """Makes the agent ask, and returns the task."""
        return await self.client.prompt(self.session, json.dumps({"call": call, **more}))

    async def settled(self, call: Json, **more: Any) -> str:
        """Makes the agent ask for something that needs no person, and returns the answer it got."""
        task = await self.client.wait_task(await self.wants(call, **more))
        assert task["status"] == "completed"
        return answers(self.received)[-1]

    async def rows(self) -> list[Json]:
        return (await self.client.get(f"/api/approvals?sessionId={self.session}"))["approvals"]

    async def get(self) -> Json:
        return await self.client.get(f"/api/sessions/{self.session}")

    async def patch(self, **fields: Any) -> Json:
        return await self.client.call("PATCH", f"/api/sessions/{self.session}", json=fields)

    async def permissions(self) -> list[Json | None]:
        return [message.get("permission") for message in await messages(self.client, self.session, "tool")]

    async def rule(self, effect: Any, **conditions: Any) -> str:
        return (await self.server.services.rules.add(Caller(), NewRule(effect=effect, **conditions))).id

    def edit(self, name: str) -> Json:
        path = str(self.server.root / "repo" / name)
        return {"title": f"Write {name}", "kind": "edit", "locations": [{"path": path}]}


@contextlib.asynccontextmanager
async def wanting(folder: Path, mode: str = "default", **settings: Any) -> AsyncGenerator[Wanting]:
    received = add_wanting(folder)
    async with serving(folder, **settings) as server:
        repo = await server.client.repo(server.repo())
        session = await server.client.session(repo["id"], agent="wants", permissionMode=mode)
        yield Wanting(server, session["id"], received)


async def test_an_allowed_use_leaves_no_approval(tmp_path: Path) -> None:
    """P3: A mode or a rule answers the agent once only; the transcript says which, and no approval is stored."""
    async with wanting(tmp_path, "acceptEdits") as wanter:
        assert await wanter.settled(wanter.edit("a")) == "yes"
        rule = await wanter.rule("allow", command="make *", note="builds")
        assert await wanter.settled(RUN) == "yes"
        assert await wanter.rows() == []
        by_mode, by_rule = await wanter.permissions()
        assert by_mode and (by_mode["decision"], by_mode["by"], by_mode["id"]) == ("allowed", "mode", None)
        assert by_rule and (by_rule["decision"], by_rule["by"], by_rule["id"]) == ("allowed", "rule", rule)
        assert "builds" in by_rule["reason"]


async def test_a_denial_by_policy_is_reported(tmp_path: Path) -> None:
    """P3: A denial by policy is a row that names its rule, a notice at once, and a note with the next prompt only."""
    async with wanting(tmp_path, "allow-all") as wanter:
        assert await wanter.settled(RUN) == "yes"
        rule = await wanter.rule("deny", command="make *", note="no builds")
        assert await wanter.settled(RUN) == "no"
        (row,) = await wanter.rows()
        assert (row["status"], row["decision"], row["optionId"]) == ("denied", "deny", "no")
        assert row["decidedBy"] == {"kind": "policy", "id": rule} and row["decidedAt"]
        assert "no builds" in row["reason"]
        (notice,) = await messages(wanter.client, wanter.session, "notice")
        assert "make it" in notice["text"] and "no builds" in notice["text"]
        denied = (await wanter.permissions())[-1]
        assert denied and (denied["decision"], denied["by"]) == ("denied", "rule")
        await wanter.settled(wanter.edit("a"))
        await wanter.settled(wanter.edit("b"))
        _, second, third, last = prompts(wanter.received)
        assert (len(second), len(third), len(last)) == (1, 2, 1)
        assert "no builds" in third[0] and "make it" in third[0]


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


async def test_plan_denies_whatever_rules_allow(tmp_path: Path) -> None:
    """P3: In plan nothing runs and nothing is edited, whatever rules and choices say."""
    async with wanting(tmp_path, "plan") as wanter:
        await wanter.rule("allow", command="make *")
        for wish in (RUN, wanter.edit("a")):
            assert await wanter.settled(wish) == "no"
        assert [row["decidedBy"] for row in await wanter.rows()] == [POLICY, POLICY]
        assert all("plan" in row["reason"] for row in await wanter.rows())


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


async def test_only_a_person_lets_an_agent_leave_plan(tmp_path: Path) -> None:
    """P2, P3: Only a person lets an agent leave plan, once, and the session's mode follows."""
    async with wanting(tmp_path, "plan") as wanter:
        await wanter.rule("allow", kind="switch_mode")
        for decision, mode in (("deny", "plan"), ("allow", "default")):
            task = await wanter.wants(LEAVE)
            approval = await wanter.client.approval(wanter.session)
            assert approval["toolKind"] == "switch_mode" and "default" in approval["reason"]
            path = f"/api/approvals/{approval['id']}"
            for always in ({"decision": "allow_always"}, {"optionId": "ever"}):
                refused = await wanter.client.post(path, always, expect=409)
                assert refused["error"]["code"] == "never_always"
            await wanter.client.post(path, {"decision": decision})
            assert (await wanter.get())["permissionMode"] == mode
            assert (await wanter.client.wait_task(task))["permissionMode"] == mode
        assert answers(wanter.received) == ["no", "yes"]
        # From now on what would be denied in plan is asked.
        await wanter.wants(wanter.edit("a"))
        assert (await wanter.client.approval(wanter.session))["status"] == "pending"


async def test_leaving_plan_keeps_a_mode_that_was_chosen_since(tmp_path: Path) -> None:
    """P2: An agent that may leave plan works in the mode that asks; the session keeps the mode of its next prompt."""
    async with wanting(tmp_path, "plan") as wanter:
        task = await wanter.wants(LEAVE)
        approval = await wanter.client.approval(wanter.session)
        await wanter.patch(permissionMode="acceptEdits")
        await wanter.client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
        assert (await wanter.client.wait_task(task))["permissionMode"] == "default"
        assert (await wanter.get())["permissionMode"] == "acceptEdits"


async def test_the_scope_of_always(tmp_path: Path) -> None:
    """P3: For a session, a folder or everywhere; pending approvals within the scope are allowed too."""
    async with wanting(tmp_path) as wanter:
        client, server = wanter.client, wanter.server
        repo = (await wanter.get())["repoId"]
        beside = Wanting(
            server, (await client.session(repo, agent="wants", permissionMode="ask"))["id"], wanter.received
        )
        other = await client.repo(server.repo("other"))
        away = Wanting(
            server, (await client.session(other["id"], agent="wants", permissionMode="ask"))["id"], wanter.received
        )
        every = (wanter, beside, away)
        for scope, reached in (("session", 1), ("worktree", 2), ("everywhere", 3)):
            call = {**RUN, "rawInput": {"command": f"make {scope}"}}
            tasks = [await session.wants(call) for session in every]
            approvals = [await client.approval(session.session) for session in every]
            decided = await client.post(
                f"/api/approvals/{approvals[0]['id']}", {"decision": "allow_always", "scope": scope}
            )
            assert decided["decision"] == "allow_always"
            now = [await client.get(f"/api/approvals/{item['id']}") for item in approvals]
            assert [item["status"] for item in now] == ["allowed"] * reached + ["pending"] * (3 - reached)
            for approval in now[reached:]:
                await client.post(f"/api/approvals/{approval['id']}", {"decision": "deny"})
            for task in tasks:
                await client.wait_task(task)
            # Again: those within reach are not asked, the others are.
            for session in every[:reached]:
                assert await session.settled(call) == "yes"
                permission = (await session.permissions())[-1]
                assert permission and permission["by"] == "choice"
        assert len((await wanter.get())["allowedTools"]) == 1
        assert (await beside.get())["allowedTools"] == []


async def test_sessions_cannot_decide_approvals(tmp_path: Path) -> None:
    """5e: A session's token cannot allow what that session, or another, asks a person."""
    async with wanting(tmp_path) as wanter:
        await wanter.wants(RUN)
        approval = await wanter.client.approval(wanter.session)
        caller = Caller("session", wanter.session)
        with pytest.raises(Denied, match="people"):
            await wanter.server.services.approvals.decide(caller, approval["id"], AnswerBody(decision="allow"))
        assert (await wanter.rows())[0]["status"] == "pending"


@pytest.mark.parametrize(("headless", "received"), [("deny", "no"), ("allow", "yes")])
async def test_unanswered_approvals_get_the_default_answer(tmp_path: Path, headless: str, received: str) -> None:
    """P4: Applies the server's default answer, decided by policy."""
    async with wanting(tmp_path, headless=headless, approval_timeout=SOON) as wanter:
        assert await wanter.settled(RUN) == received
        (row,) = await wanter.rows()
        assert (row["status"], row["decision"], row["decidedBy"]) == ("expired", headless, POLICY)
        assert row["expiresAt"] <= row["decidedAt"] and row["onExpiry"] == headless
        assert "Nobody answered" in row["reason"]
        assert len(await messages(wanter.client, wanter.session, "notice")) == (headless == "deny")
        assert await wanter.settled(wanter.edit("a")) == received
        assert len(prompts(wanter.received)[-1]) == 1 + (headless == "deny")


async def test_approvals_that_a_timeout_never_allows(tmp_path: Path) -> None:
    """P4: A timeout denies a change of mode, a use without a once-only option, and one that a rule has forbidden
    meanwhile."""
    async with wanting(tmp_path, headless="allow", approval_timeout=SOON) as wanter:
        assert await wanter.settled(LEAVE) == "no"
        assert await wanter.settled(RUN, options=NO_ONCE) == "no"
        assert {row["status"] for row in await wanter.rows()} == {"expired"}
        assert {row["decision"] for row in await wanter.rows()} == {"deny"}
    async with wanting(tmp_path / "late", headless="allow", approval_timeout=LATER) as wanter:
        task = await wanter.wants(RUN)
        await wanter.client.approval(wanter.session)
        await wanter.rule("deny", command="make *", note="not any more")
        await wanter.patch(approvalTimeout=SOON)
        await wanter.client.wait_task(task)
        (row,) = await wanter.rows()
        assert (row["status"], row["decision"]) == ("expired", "deny") and "not any more" in row["reason"]
        assert answers(wanter.received) == ["no"]


async def test_a_sessions_default_answer_comes_first(tmp_path: Path) -> None:
    """P4: A session's own default answer applies to its approvals, including pending ones; null uses the server's."""
    async with wanting(tmp_path, headless="deny", approval_timeout=LATER) as wanter:
        await wanter.patch(headless="wait")
        await wanter.wants(RUN)
        approval = await wanter.client.approval(wanter.session)
        assert approval["expiresAt"] is None
        path = f"/api/approvals/{approval['id']}"
        async with wanter.client.events(wanter.session) as events:
            assert (await wanter.patch(headless="allow"))["headless"] == "allow"
            changed = (await events.until(lambda event: event["type"] == "approval.patched"))["data"]
        assert (changed["onExpiry"], changed["status"]) == ("allow", "pending") and changed["expiresAt"]
        assert await wanter.client.get(path) == changed
        await wanter.patch(headless=None)
        assert (await wanter.client.get(path))["onExpiry"] == "deny"
        await wanter.patch(headless="wait")
        assert (await wanter.client.get(path))["expiresAt"] is None


async def test_an_approval_expires_without_a_server(tmp_path: Path) -> None:
    """P4, O2: An approval survives a kill -9 of the server and expires on time."""
    received = add_wanting(tmp_path)
    flags = ("--headless", "deny", "--approval-timeout", str(2 / 60))
    async with ServerProcess(tmp_path / "data", tmp_path / "work", flags) as server:
        async with server.client() as client:
            session = await open_in(server, client, agent="wants", permissionMode="ask")
            task = await client.prompt(session, json.dumps({"call": RUN}))
            approval = await client.approval(session)
        await server.stop(signal.SIGKILL)
        assert not answers(received)
        await server.start()
        async with server.client() as client:
            assert (await client.wait_task(task))["attempt"] == 1
            row = await client.get(f"/api/approvals/{approval['id']}")
            assert (row["status"], row["decidedBy"]) == ("expired", POLICY)
    assert answers(received) == ["no"]


async def test_commands_of_the_demo_agent(tmp_path: Path) -> None:
    """P3, L5: A rule allows the command that it covers, and asks about one that hides another."""
    async with serving(tmp_path) as server:
        client = server.client
        repo = await client.repo(server.repo())
        session = (await client.session(repo["id"], permissionMode="ask"))["id"]
        await server.services.rules.add(Caller(), NewRule(effect="allow", command="touch *"))
        assert (await client.ask(session, "[[run touch made]]"))["status"] == "completed"
        assert (server.root / "repo" / "made").exists()
        task = await client.prompt(session, "[[run touch a; touch b]] [[write c d]]")
        approval = await client.approval(session)
        assert approval["title"] == "touch a; touch b"
        await server.services.rules.add(Caller(), NewRule(effect="deny", path="c"))
        await client.post(f"/api/approvals/{approval['id']}", {"decision": "deny"})
        assert (await client.wait_task(task))["status"] == "completed"
        assert {path.name for path in (server.root / "repo").iterdir()}.isdisjoint({"a", "b", "c"})
        listed = (await client.get(f"/api/approvals?sessionId={session}"))["approvals"]
        assert [(item["status"], item["decidedBy"]["kind"]) for item in listed] == [
            ("denied", "person"),
            ("denied", "policy"),
        ]
