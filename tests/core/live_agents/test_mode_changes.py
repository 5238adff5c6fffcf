"""Tests modes that people change in the middle of a turn: they count from the next prompt on, unless a person applies
them at once. `test_settings_changes` tests changes between turns."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from bough.errors import Denied
from bough.model.session import Caller
from tests.core.helpers import messages, open_in, open_session
from tests.core.live_agents.test_ignored_modes import add_mode_ignorer
from tests.support.client import Client, Json
from tests.support.eventually import eventually
from tests.support.server import Running, ServerProcess, serving

TWICE = "[[run touch one]] [[run touch two]]"
POLICY = {"kind": "policy", "id": None}


async def change(client: Client, session: str, mode: str) -> Json:
    return await client.call("PATCH", f"/api/sessions/{session}", json={"permissionMode": mode})


async def apply(client: Client, session: str, **options: str) -> Json:
    return await client.post(f"/api/sessions/{session}/mode/apply", dict(options))


async def allow(client: Client, approval: Json) -> None:
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})


@pytest.mark.parametrize("mode", ["allow-all", "plan"])
async def test_a_change_counts_from_the_next_prompt_on(server: Running, mode: str) -> None:
    """P2: A turn keeps the mode that it was sent with, whether the session's rises or falls."""
    client = server.client
    session = await open_session(server, permissionMode="ask")
    task = await client.prompt(session, TWICE)
    first = await client.approval(session)
    assert (await change(client, session, mode))["permissionMode"] == mode
    assert (await client.get(f"/api/tasks/{task}"))["permissionMode"] == "ask"
    await allow(client, first)
    second = await client.approval(session)
    assert second["title"] == "touch two"
    await allow(client, second)
    assert (await client.wait_task(task))["status"] == "completed"
    following = await client.ask(session, "[[status]]")
    assert (following["status"], following["permissionMode"]) == ("completed", mode)
    assert f"mode: {mode}" in (await client.texts(session))[-1]
    assert await messages(client, session, "notice") == []


async def test_more_rights_are_applied_at_once(server: Running) -> None:
    """P2, P4: A person applies a higher mode: open questions that it allows are answered by policy, the agent asks no
    more, and the transcript says so."""
    client = server.client
    session = await open_session(server, permissionMode="ask")
    task = await client.prompt(session, TWICE)
    first = await client.approval(session)
    await change(client, session, "allow-all")
    assert (await apply(client, session))["permissionMode"] == "allow-all"
    ended = await client.wait_task(task)
    assert (ended["status"], ended["attempt"], ended["permissionMode"]) == ("completed", 1, "allow-all")
    row = await client.get(f"/api/approvals/{first['id']}")
    assert (row["status"], row["decidedBy"]) == ("allowed", POLICY)
    folder = Path((await client.get(f"/api/sessions/{session}"))["cwd"])
    assert (folder / "one").exists() and (folder / "two").exists()
    [notice] = await messages(client, session, "notice")
    assert "A person applied mode allow-all" in notice["text"] and "mode ask" in notice["text"]


async def test_fewer_rights_are_applied_at_once(server: Running) -> None:
    """P2, P4: A person applies a lower mode: open questions that it denies are answered, and nothing more is done."""
    client = server.client
    session = await open_session(server, permissionMode="ask")
    task = await client.prompt(session, TWICE)
    first = await client.approval(session)
    await change(client, session, "plan")
    await apply(client, session)
    assert (await client.wait_task(task))["permissionMode"] == "plan"
    row = await client.get(f"/api/approvals/{first['id']}")
    assert (row["status"], row["decidedBy"]) == ("denied", POLICY)
    folder = Path((await client.get(f"/api/sessions/{session}"))["cwd"])
    assert not (folder / "one").exists() and not (folder / "two").exists()


async def test_a_running_command_does_not_delay_it(server: Running) -> None:
    """P2: The agent itself takes the new mode while it works: what comes next is asked about."""
    client = server.client
    session = await open_session(server, permissionMode="bypassPermissions")
    task = await client.prompt(session, "[[run touch begun; while [ ! -e go ]; do sleep 0.05; done]] [[run touch two]]")
    folder = Path((await client.get(f"/api/sessions/{session}"))["cwd"])
    await eventually((folder / "begun").exists, "the first command runs")
    await change(client, session, "ask")
    await apply(client, session)
    (folder / "go").touch()
    question = await client.approval(session)
    assert question["title"] == "touch two" and not (folder / "two").exists()
    await allow(client, question)
    assert (await client.wait_task(task))["attempt"] == 1


async def test_nothing_to_apply(server: Running) -> None:
    """P2: Applying a mode without a running turn, or the mode that the turn has, changes nothing."""
    client = server.client
    session = await open_session(server, permissionMode="ask")
    assert (await apply(client, session))["permissionMode"] == "ask"
    await client.prompt(session, TWICE)
    question = await client.approval(session)
    await apply(client, session)
    assert (await client.get(f"/api/approvals/{question['id']}"))["status"] == "pending"
    assert await messages(client, session, "notice") == []
    await change(client, session, "auto")
    for _ in range(2):
        await apply(client, session, idempotencyKey="once")
    assert len(await messages(client, session, "notice")) == 1
    # Mode auto asks about this command too.
    assert (await client.get(f"/api/approvals/{question['id']}"))["status"] == "pending"


async def test_only_a_person_applies_a_mode(server: Running) -> None:
    """P2: A session's agent cannot do so, not even to another session."""
    session = await open_session(server, permissionMode="ask")
    with pytest.raises(Denied, match="Only people"):
        await server.services.modes.apply(Caller(kind="session", id=session), session)


async def test_an_agent_that_keeps_its_rights_is_replaced(tmp_path: Path) -> None:
    """P2: An agent that does not take a lower mode within a turn is ended, and the turn continues in that mode."""
    received = add_mode_ignorer(tmp_path, "fixed")
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="fixed", permissionMode="bypassPermissions")
        task = await client.prompt(session, "go")
        await eventually(received.exists, "the agent works")
        await change(client, session, "plan")
        await apply(client, session)
        ended = await client.wait_task(task)
        assert (ended["status"], ended["attempt"], ended["permissionMode"]) == ("completed", 2, "plan")
        assert received.read_text().splitlines() == ["prompted in yolo", "prompted in plan"]
        assert "it is ended" in str(await messages(client, session, "notice"))


async def test_an_agent_keeps_a_stricter_mode(tmp_path: Path) -> None:
    """P2: An agent that does not take a higher mode within a turn continues, and people are told."""
    received = add_mode_ignorer(tmp_path, "fixed")
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="fixed", permissionMode="default")
        task = await client.prompt(session, "go")
        await eventually(received.exists, "the agent works")
        await change(client, session, "bypassPermissions")
        await apply(client, session)
        running = await client.get(f"/api/tasks/{task}")
        assert (running["status"], running["permissionMode"]) == ("running", "bypassPermissions")
        assert "until the next prompt" in str(await messages(client, session, "notice"))
        await client.post(f"/api/sessions/{session}/stop")


async def test_the_next_server_keeps_the_mode_of_a_turn(tmp_path: Path) -> None:
    """P2, O2: After a kill, a turn that continues is judged by the mode that it was sent with."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            session = await open_in(server, client, permissionMode="ask")
            task = await client.prompt(session, TWICE)
            first = await client.approval(session)
            await change(client, session, "allow-all")
        await server.stop(signal.SIGKILL)
        await server.start()
        async with server.client() as client:
            await allow(client, first)
            second = await client.approval(session)
            assert second["title"] == "touch two"
            await apply(client, session)
            ended = await client.wait_task(task)
            assert (ended["status"], ended["attempt"], ended["permissionMode"]) == ("completed", 1, "allow-all")
