"""Tests that the life of an agent is the same inside the sandbox: keepers, restarts, suspension and the end of all its
processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from bough.agents.keeper import process_tree
from bough.agents.keeper_client import keeper_folder
from tests.attacks.sandbox.box_agents import needs_sandbox, run
from tests.core.helpers import MARK, agents_with, open_in, open_session
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.server import ServerProcess, serving

STRAY = 'setsid sh -c "trap : TERM; while :; do sleep 600; done" > /dev/null 2>&1 & sleep 0.3'


async def _said(client: Client, session: str, text: str) -> bool:
    return any(text in words for words in await client.texts(session))


@needs_sandbox
async def test_a_turn_survives_the_death_of_the_server(tmp_path: Path) -> None:
    """S6, O2: The keeper and its confined agent continue, and the next server attaches to them."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work", env={"BOUGH_SANDBOX": "required"}) as server:
        async with server.client() as client:
            session = await open_in(server, client, permissionMode="bypassPermissions")
            task = await client.prompt(session, "[[say Before]] [[slow 8 4]] [[write after.txt After]] [[say Done]]")
            await eventually(lambda: _said(client, session, "Before"), "the agent has begun")
        await server.stop(signal.SIGKILL)
        await server.start()
        async with server.client() as client:
            ended = await client.wait_task(task, "completed")
            assert ended["attempt"] == 1
            assert (server.root / "repo" / "after.txt").read_text() == "After"
            assert (await client.get(f"/api/sessions/{session}"))["confinement"] == "workspace"


@needs_sandbox
async def test_nothing_is_left_when_an_agent_is_suspended(tmp_path: Path) -> None:
    """S6: Also processes that left the agent's session and ignore SIGTERM end with it; the next prompt wakes it."""
    mark = tmp_path / "mark"
    async with serving(tmp_path, sandbox="required") as server:
        session = await open_session(server, permissionMode="bypassPermissions", env={MARK: str(mark)})
        await run(server.client, session, STRAY)
        assert len(agents_with(mark)) >= 3
        pool = server.services.runner.agents
        agent = pool.get(session)
        assert agent is not None
        await pool.suspend(agent)
        assert agents_with(mark) == []
        assert (await server.client.ask(session, "[[recall]]"))["status"] == "completed"


@needs_sandbox
async def test_an_agent_dies_with_its_keeper(tmp_path: Path) -> None:
    """S6: A killed keeper takes its agent and everything in the box with it, before any server looks."""
    mark = tmp_path / "mark"
    async with serving(tmp_path, sandbox="required") as server:
        session = await open_session(server, permissionMode="bypassPermissions", env={MARK: str(mark)})
        await run(server.client, session, STRAY)
        [folder] = keeper_folder.list_keepers(server.data / "keepers")
        about = keeper_folder.read_info(folder)
        assert about is not None
        os.kill(about.keeper.pid, signal.SIGKILL)
        await eventually(lambda: not process_tree.alive(about.agent) and not agents_with(mark), "the agent is gone")
        assert (await server.client.ask(session, "[[say Again]]"))["status"] == "completed"


@needs_sandbox
async def test_a_crash_inside_is_reported_as_such(tmp_path: Path) -> None:
    """S6: An agent that is killed inside its box counts as killed by that signal, and its turn is continued."""
    mark = tmp_path / "mark"
    async with serving(tmp_path, sandbox="required") as server:
        session = await open_session(server, permissionMode="bypassPermissions", env={MARK: str(mark)})
        await server.client.ask(session, "[[say Hi]]")
        [agent] = agents_with(mark)
        agent_link = server.services.runner.agents.get(session)
        assert agent_link is not None
        os.kill(agent, signal.SIGKILL)
        await eventually(lambda: agent_link.down, "the end is noticed")
        [folder] = keeper_folder.list_keepers(server.data / "keepers")
        ended = keeper_folder.read_end(folder)
        assert ended is not None and (ended.code, ended.signal) == (None, signal.SIGKILL)
        assert (await server.client.ask(session, "[[say Again]]"))["status"] == "completed"
