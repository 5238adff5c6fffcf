"""Tests how policy's answers by mode, rule and remembered choice reach agents, rows and transcripts. The unit tests
check the decisions themselves."""

from __future__ import annotations

from pathlib import Path

from bough.core.policy.rules import NewRule
from bough.model.session import Caller
from tests.core.asking_agent import (
    LEAVE,
    POLICY,
    RUN,
    Wanting,
    answers,
    prompts,
    wanting,
)
from tests.core.helpers import messages
from tests.support.server import serving


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


async def test_plan_denies_whatever_rules_allow(tmp_path: Path) -> None:
    """P3: In plan nothing runs and nothing is edited, whatever rules and choices say."""
    async with wanting(tmp_path, "plan") as wanter:
        await wanter.rule("allow", command="make *")
        for wish in (RUN, wanter.edit("a")):
            assert await wanter.settled(wish) == "no"
        assert [row["decidedBy"] for row in await wanter.rows()] == [POLICY, POLICY]
        assert all("plan" in row["reason"] for row in await wanter.rows())


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
