"""P2: A session's mode holds from the next prompt on, whatever happened to agent and server meanwhile; an agent that
changes its own mode gains nothing that no person has allowed."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.real_agents.helpers.agent_processes import agent_tree, kill
from tests.real_agents.helpers.agent_under_test import Real
from tests.real_agents.helpers.expected_rights import Trials, expected, outcome
from tests.real_agents.helpers.measurements_table import Record
from tests.real_agents.helpers.watch_turn import pending, watch
from tests.support.eventually import eventually


async def patch(real: Real, session: str, mode: str) -> None:
    await real.client.call("PATCH", f"/api/sessions/{session}", json={"permissionMode": mode})


async def mode_of(real: Real, session: str) -> str:
    return (await real.client.get(f"/api/sessions/{session}"))["permissionMode"]


async def test_a_new_mode_holds_from_the_next_prompt_on(real: Real, place: Path, record: Record) -> None:
    """P2: Goes up and down through the modes in one session; each applies at once."""
    session = await real.session(permissionMode="default")
    trials = Trials(real, place)
    for mode in ("default", "plan", "acceptEdits", "bypassPermissions", "default"):
        await patch(real, session, mode)
        for action in ("edit", "command"):
            assert await outcome(real, session, trials, action) == expected(real.agent, mode, action), (mode, action)
    assert await pending(real) == []
    record("changed mode", "at the next prompt")


async def test_a_turn_keeps_its_mode(real: Real, record: Record) -> None:
    """P2: A mode that is raised in the middle of a turn does not count in it; a person can apply it at once."""
    actions, client = real.actions, real.client
    for applied in (False, True):
        session = await real.session(permissionMode="default")
        first, second = (real.repo / f"{name}.{applied}" for name in ("first", "second"))
        task = await client.prompt(session, f"{actions.write(first.name)} {actions.write(second.name)}")
        question = await client.approval(session)
        await patch(real, session, "bypassPermissions")
        asked_again = False
        if applied:
            await client.post(f"/api/sessions/{session}/mode/apply")
        else:
            await client.post(f"/api/approvals/{question['id']}", {"decision": "allow"})
            another = await client.approval(session)
            asked_again = another["id"] != question["id"] and not second.exists()
            await client.post(f"/api/approvals/{another['id']}", {"decision": "allow"})
        ended = await client.wait_task(task)
        assert (ended["status"], ended["attempt"]) == ("completed", 1)
        assert first.exists() and second.exists()
        assert asked_again == (not applied)
        notices = [
            str(item["content"].get("text")) for item in await real.messages(session) if item["role"] == "system"
        ]
        assert any("A person applied mode" in text for text in notices) is applied
        if not applied:
            record("mode raised in the middle of a turn", "counts from the next prompt on")
        else:
            delayed = any("until the next prompt" in text for text in notices)
            record(
                "more rights in the middle of a turn",
                "by Bough's answers" if delayed else "taken by the agent",
            )
    assert await pending(real) == []


async def test_a_turn_keeps_its_rights(real: Real, record: Record) -> None:
    """P2: A mode that is lowered in the middle of a turn does not count in it, but in the next one."""
    actions, client = real.actions, real.client
    session = await real.session(permissionMode="bypassPermissions")
    begun, go, late = (real.repo / name for name in ("begun", "go", "late"))
    waiting = actions.shell(f"touch {begun.name}; while [ ! -e {go.name} ]; do sleep 0.1; done")
    task = await client.prompt(session, f"{waiting} {actions.write(late.name)}")
    await eventually(begun.exists, "the command runs")
    await patch(real, session, "default")
    go.touch()
    ended = await client.wait_task(task)
    assert (ended["status"], ended["attempt"], ended["permissionMode"]) == ("completed", 1, "bypassPermissions")
    assert late.exists() and await pending(real) == []
    seen = await watch(real, session, actions.write("next"), "deny")
    assert (len(seen.asked), (real.repo / "next").exists()) == (1, False)
    record("mode lowered in the middle of a turn", "counts from the next prompt on")


async def test_fewer_rights_are_applied_at_once(real: Real, record: Record) -> None:
    """P2: While a command runs, a person applies mode plan: nothing that comes after it in the turn is done."""
    actions, client = real.actions, real.client
    session = await real.session(permissionMode="bypassPermissions")
    begun, go, late = (real.repo / name for name in ("begun", "go", "late"))
    waiting = actions.shell(f"touch {begun.name}; while [ ! -e {go.name} ]; do sleep 0.1; done")
    task = await client.prompt(session, f"{waiting} {actions.write(late.name)}")
    await eventually(begun.exists, "the command runs")
    await patch(real, session, "plan")
    await client.post(f"/api/sessions/{session}/mode/apply")
    go.touch()
    ended = await client.wait_task(task)
    assert ended["permissionMode"] == "plan" and not late.exists()
    assert await pending(real) == []
    record(
        "fewer rights in the middle of a turn",
        "taken" if ended["attempt"] == 1 else "by another attempt",
    )


async def test_a_mode_outlives_agent_and_server(real: Real, place: Path, record: Record) -> None:
    """P2: After a kill -9 the mode is the session's current one, not the one that the agent remembers."""
    session = await real.session(permissionMode="bypassPermissions")
    trials = Trials(real, place)

    async def is_as(mode: str) -> None:
        assert await outcome(real, session, trials, "edit") == expected(real.agent, mode, "edit")

    await is_as("bypassPermissions")
    kill(agent_tree(real))
    await patch(real, session, "default")
    await is_as("default")
    await patch(real, session, "bypassPermissions")
    await is_as("bypassPermissions")
    await real.server.stop(signal.SIGKILL)
    await real.server.start()
    async with real.server.client() as client:
        real = replace(real, client=client)
        await patch(real, session, "default")
        await is_as("default")
        await patch(real, session, "plan")
        kill(agent_tree(real))
        await is_as("plan")
        assert await pending(real) == []
    record("mode after kill -9 of agent or server", "set again")


@pytest.mark.only("claude-code")
async def test_leaving_plan_needs_approval(real: Real, record: Record) -> None:
    """P2: An agent that wants to leave plan needs a person, and is then in the mode that asks."""
    session, file = await real.session(permissionMode="plan"), real.repo / "planned"
    leave = f"[[tool ExitPlanMode {json.dumps({'plan': 'Write a file.'})}]]"
    seen = await watch(real, session, f"{leave} {real.actions.write(file.name)}", "deny")
    assert [item["toolKind"] for item in seen.asked] == ["switch_mode"]
    assert (await mode_of(real, session), file.exists()) == ("plan", False)
    seen = await watch(real, session, real.actions.write(file.name), "allow")
    assert (seen.asked, len(seen.refused), file.exists()) == ([], 1, False)
    seen = await watch(real, session, f"{leave} {real.actions.write(file.name)}", "allow")
    assert [item["toolKind"] for item in seen.asked] == ["switch_mode", "edit"]
    assert (seen.refused, await mode_of(real, session), file.exists()) == ([], "default", True)
    seen = await watch(real, session, real.actions.write("later"), "deny")
    assert (len(seen.asked), (real.repo / "later").exists()) == (1, False)
    assert await pending(real) == []
    record("leaving plan on its own", "asks; then default")
