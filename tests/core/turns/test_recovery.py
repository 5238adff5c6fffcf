"""Tests what a new server does with the work of a server that was killed."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from bough.agents.keeper import process_tree
from bough.agents.keeper_client import keeper_folder
from bough.agents.keeper_client.keeper_launcher import KeeperLauncher
from tests.support.eventually import eventually
from tests.support.repos import make_repo
from tests.support.server import ServerProcess


async def test_queues_drain_after_a_kill(tmp_path: Path) -> None:
    """Q4: Prompts that were acknowledged before a kill -9 are answered after it, in order and once each."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            session = (await client.session(repo["id"]))["id"]
            first = await client.prompt(session, "[[slow 50 3]]")
            rest = [await client.prompt(session, f"[[say answer {number}]]") for number in range(3)]
            await client.wait_task(first, "running")
        await server.stop(signal.SIGKILL)
        await server.start()
        async with server.client() as client:
            for task in rest:
                assert (await client.wait_task(task))["status"] == "completed"
            assert (await client.texts(session))[-3:] == ["answer 0", "answer 1", "answer 2"]
            task = await client.get(f"/api/tasks/{first}")
            assert (task["status"], task["attempt"]) == ("completed", 1)
        assert await server.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_turn_and_its_approval_survive_a_kill(tmp_path: Path, number: signal.Signals) -> None:
    """O2: A turn continues without a server, its approval stays pending, and the decision reaches the same agent."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            asking = (await client.session(repo["id"], permissionMode="ask"))["id"]
            asking_task = await client.prompt(asking, "[[say before]] [[run echo done]] [[say after]]")
            question = await client.approval(asking)
            talking = (await client.session(repo["id"]))["id"]
            talking_task = await client.prompt(talking, "[[slow 30 1.5]]")
            await client.wait_task(talking_task, "running")
        await server.stop(number)
        await server.start()
        async with server.client() as client:
            assert (await client.approval(asking))["id"] == question["id"]
            await client.post(f"/api/approvals/{question['id']}", {"decision": "allow"})
            for task_id in (asking_task, talking_task):
                task = await client.wait_task(task_id)
                assert (task["status"], task["attempt"]) == ("completed", 1)
            assert await client.texts(asking) == ["before", "after"]
            assert await client.texts(talking) == ["\n".join(f"tick {number}" for number in range(1, 31))]


async def test_a_decision_right_before_a_kill_arrives(tmp_path: Path) -> None:
    """Q4, P4: A decision that was acknowledged right before a kill reaches the agent, once."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            session = (await client.session(repo["id"], permissionMode="ask"))["id"]
            task_id = await client.prompt(session, "[[run echo x >> count]] [[run cat count]]")
            first = await client.approval(session)
            await client.post(f"/api/approvals/{first['id']}", {"decision": "allow"})
        await server.stop(signal.SIGKILL)
        await server.start()
        async with server.client() as client:
            second = await client.approval(session)
            assert second["id"] != first["id"]
            await client.post(f"/api/approvals/{second['id']}", {"decision": "allow"})
            assert (await client.wait_task(task_id))["attempt"] == 1
        assert (server.root / "repo" / "count").read_text() == "x\n"


async def test_a_stop_is_completed_by_the_next_server(tmp_path: Path) -> None:
    """Q4, T6: A turn that was being stopped when the server was killed is stopped by the next one, but not the turn
    after it."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            session = (await client.session(repo["id"]))["id"]
            task_id = await client.prompt(session, "[[slow 300 60]]")
            behind = await client.prompt(session, "[[say behind]]")
            await client.wait_task(task_id, "running")
            stop = asyncio.create_task(client.http.post(f"/api/sessions/{session}/stop", json={}))
            await client.wait_task(task_id, "stopping", "cancelled")
            await server.stop(signal.SIGKILL)
            await asyncio.wait((stop,))
            stop.exception()
        await server.start()
        async with server.client() as client:
            assert (await client.wait_task(task_id))["status"] == "cancelled"
            await client.post(f"/api/sessions/{session}/resume")
            assert (await client.wait_task(behind))["status"] == "completed"


async def test_orphaned_keepers_are_ended(tmp_path: Path) -> None:
    """O2: A data folder whose database was removed leaves no agent running."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            session = (await client.session(repo["id"]))["id"]
            await client.wait_task(await client.prompt(session, "[[slow 300 60]]"), "running")
        await server.stop(signal.SIGKILL)
        keepers = KeeperLauncher(server.data / "keepers")
        assert len(keepers.names()) == 1
        for path in server.data.glob("bough.db*"):
            path.unlink()
        await server.start()
        assert keepers.names() == []


async def test_a_turn_survives_an_upgrade(tmp_path: Path) -> None:
    """O2, R6: A newer server with a newer schema continues a turn of an older one; a copy of the database is kept."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            session = (await client.session(repo["id"]))["id"]
            task_id = await client.prompt(session, "[[slow 30 2]] [[say whole]]")
            await client.wait_task(task_id, "running")
        assert await server.stop() == 0
        server.module = "tests.support.newer_version"
        await server.start()
        async with server.client() as client:
            assert (await client.get("/api/health"))["version"] == "99.0.0"
            task = await client.wait_task(task_id)
            assert (task["status"], task["attempt"]) == ("completed", 1)
            ticks = "\n".join(f"tick {number}" for number in range(1, 31))
            assert await client.texts(session) == [f"{ticks}\nwhole"]
        assert len(list(server.data.glob("bough.db.*.bak"))) == 1


async def test_a_damaged_journal_is_said(tmp_path: Path) -> None:
    """Q4, O2: if the journal of an agent that died without a server is damaged, the transcript says that something is
    missing, and the turn continues as its next attempt."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            session = (await client.session(repo["id"]))["id"]
            task = await client.prompt(session, "[[slow 40 2]]")
            await client.wait_task(task, "running")
        await server.stop(signal.SIGKILL)
        (folder,) = keeper_folder.list_keepers(server.data / "keepers")
        journal = folder / "journal"
        size = journal.stat().st_size
        await eventually(lambda: journal.stat().st_size > size + 2000, "the agent says more without a server")
        about = keeper_folder.read_info(folder)
        assert about is not None
        process_tree.send_signal([about.keeper], signal.SIGKILL)
        await eventually(lambda: not process_tree.alive(about.keeper))
        with journal.open("r+b") as file:
            file.seek(size + 1000)
            file.write(b"?" * 1000)
        await server.start()
        async with server.client() as client:
            ended = await client.wait_task(task)
            assert (ended["status"], ended["attempt"]) == ("completed", 2)
            messages = await client.get(f"/api/sessions/{session}/messages")
            notices = [item["content"]["text"] for item in messages if item["content"]["type"] == "notice"]
            assert any("The agent's journal is damaged" in text for text in notices)
