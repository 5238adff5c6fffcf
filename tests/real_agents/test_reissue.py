"""5c: Kills the server between carrying out a call and answering it, in the middle of a real agent's turn: the same
call, made again by the model, joins the first."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.real_agents.helpers.agent_under_test import FULL, Real
from tests.real_agents.helpers.measurements_table import Record
from tests.real_agents.helpers.several_agents import approvals, ended, leads, playing, said_in, tree
from tests.support.real_agents import dying_server
from tests.support.real_agents.actions import Actions
from tests.support.scripted_model.running import ScriptedModel

GATE = "the-server-is-back"


def free_port() -> str:
    """Returns a free port. Agents know their server by it, also after a restart."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


def spawning(actions: Actions) -> str:
    return actions.own("agor_sessions_spawn", prompt=actions.say("hello"), title="Only child")


@contextlib.asynccontextmanager
async def started_again(real: Real) -> AsyncGenerator[None]:
    """Restarts a server that has died, after the model was told that its call failed."""
    await real.model.wait_for(lambda entry: "gate" in entry.does)
    real.server.module = "bough"
    await real.server.start()
    async with real.server.client() as real.client:
        yield


@pytest.mark.parametrize("dies", ("inside", "after") if FULL else ("inside",))
@leads("claude-code", "codex")
async def test_a_call_made_again_joins_the_first(
    agent: str, dies: str, model: ScriptedModel, place: Path, repo: Path, record: Record
) -> None:
    """5c: The server dies after spawning a child and before answering; restarted and called again by the same turn, it
    answers with the same child, and there is no other."""
    flags, env = ("--port", free_port()), {dying_server.DIES: dies}
    async with playing(
        agent, model=model, place=place, repo=repo, flags=flags, env=env, module=dying_server.MODULE
    ) as real:
        session = await real.session(permissionMode="bypassPermissions")
        await real.ask(session, real.actions.say("awake"))
        spawn = spawning(real.actions)
        task_id = await real.client.prompt(session, f"{spawn} [[gate {GATE}]] {spawn} {real.actions.say('over')}")
        assert real.server.process is not None
        assert await real.server.process.wait() == -signal.SIGKILL
        async with started_again(real):
            await model.open(GATE)
            task = await real.client.wait_task(task_id)
            answer = await said_in(real, task)
            assert (task["status"], task["attempt"], answer.endswith("over")) == ("completed", 1, True), answer
            [_, child] = await tree(real, session, 2)
            [only] = await ended(real, child["id"], 1)
            # As far as the model was told, the first call failed.
            assert answer.count(child["id"]) == 1, answer
            assert f'{{"sessionId":"{child["id"]}","taskId":"{only["id"]}"}}' in answer
            await ended(real, session, 1, "callback")
            assert await approvals(real, session) == []
            record("repeated call after the server died", "joins the first")


@leads("gemini")
async def test_an_approval_outlives_the_server(
    agent: str, model: ScriptedModel, place: Path, repo: Path, record: Record
) -> None:
    """5c, 5d, P4: The server is killed while a call waits for approval; the same call, made again, waits for the same
    approval, and once allowed it is carried out once."""
    async with playing(agent, model=model, place=place, repo=repo, flags=("--port", free_port())) as real:
        session = await real.session(permissionMode="default")
        spawn = spawning(real.actions)
        task_id = await real.client.prompt(session, f"{spawn} [[gate {GATE}]] {spawn} {real.actions.say('over')}")
        asked = await real.client.approval(session)
        await real.server.stop(signal.SIGKILL)
        async with started_again(real):
            await model.open(GATE)
            await model.wait_for(lambda entry: "gate" in entry.does and entry.done)
            assert [approval["id"] for approval in await approvals(real, session)] == [asked["id"]]
            await real.client.post(f"/api/approvals/{asked['id']}", {"decision": "allow"})
            task = await real.client.wait_task(task_id)
            answer = await said_in(real, task)
            assert (task["status"], task["attempt"], answer.endswith("over")) == ("completed", 1, True), answer
            [_, child] = await tree(real, session, 2)
            assert answer.count(child["id"]) == 1, answer
            assert [approval["status"] for approval in await approvals(real, session)] == ["allowed"]
            record("approval of a call while the server died", "stays, only once")


@pytest.mark.skipif(not FULL, reason="FULL=1 is for what takes long")
async def test_nobody_answers(real: Real, record: Record) -> None:
    """5d: A call that nobody decides returns a handle before any agent loses patience; once allowed, it is carried out
    once, and a prompt tells the agent the outcome."""
    session = await real.session(permissionMode="default")
    task_id = await real.client.prompt(session, f"{spawning(real.actions)} {real.actions.say('over')}")
    asked = await real.client.approval(session)
    task = await real.client.wait_task(task_id)
    answer = await said_in(real, task)
    assert (task["status"], answer.endswith("over")) == ("completed", True)
    assert f'{{"status":"pending","approvalId":"{asked["id"]}"' in answer
    await tree(real, session, 1)
    await real.client.post(f"/api/approvals/{asked['id']}", {"decision": "allow"})
    [callback, _] = await ended(real, session, 2, "callback")
    [_, child] = await tree(real, session, 2)
    assert child["id"] in callback["prompt"] and "was allowed and is done" in callback["prompt"]
    record("call that nobody decides", "pending after 45 s; result later")
