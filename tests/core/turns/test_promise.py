"""Tests faults of the database and kills at the moments that matter: nothing is sent twice, lost or stuck."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from pathlib import Path

import httpx
import psutil
import pytest

from bough.core.live_agents.keepers import Keeper
from bough.core.store.sql import APPROVALS, KEEPERS, MESSAGES, TASKS, TREES
from bough.storage.queries import Query
from tests.core.helpers import messages, open_session
from tests.support.eventually import eventually
from tests.support.faults.database_faults import Fault, failing
from tests.support.repos import make_repo
from tests.support.server import Running, ServerProcess

FAULTS: list[Fault] = ["busy", "io", "read_only", "full", "lost"]


def agents_below(data: Path) -> list[psutil.Process]:
    """Returns the processes of the demo agents of a data folder, and their keepers."""
    processes: list[psutil.Process] = []
    for process in psutil.process_iter():
        try:
            in_environment = process.environ().get("BOUGH_DEMO_HOME", "").startswith(str(data))
            if in_environment or str(data / "keepers") in " ".join(process.cmdline()):
                processes.append(process)
        except psutil.Error:
            continue
    return processes


def git_output(repo: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=repo, capture_output=True, check=True).stdout.decode().strip()


async def test_a_second_attempt_that_is_cut_off_before_its_line_is_told_to_continue(tmp_path: Path) -> None:
    """Q4, O2: attempt 1 was sent and its agent died; a server that dies between recording attempt 2 as sent and sending
    it leaves the next one to send a request to continue, not the prompt again."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            session = (await client.session(repo["id"], permissionMode="bypassPermissions"))["id"]
            task = await client.prompt(session, "[[run echo x >> count]] [[hang]]")
            await eventually((server.root / "repo" / "count").exists, "the command has run")
        await server.stop(signal.SIGKILL)
        for process in agents_below(server.data):
            process.kill()
        server.module, server.env = "tests.support.faults.crashing_server", {"CRASH": "after:tell_asides"}
        await server.start()
        assert server.process is not None
        async with asyncio.timeout(60):
            await server.process.wait()
        server.module, server.env = "bough", {}
        await server.start()
        async with server.client() as client:
            ended = await client.wait_task(task)
            assert (ended["status"], ended["attempt"]) == ("completed", 2)
            await client.ask(session, "[[recall]]")
            recalled = (await client.texts(session))[-1]
        assert (server.root / "repo" / "count").read_text() == "x\n"
        assert "You were interrupted while working" in recalled


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_question_whose_write_failed_is_asked_once(server: Running, fault: Fault) -> None:
    """P4, Q4: a permission request is stored however the first write of it fails, and once."""
    client = server.client
    session = await open_session(server, permissionMode="ask")
    # One whose reply was lost is found when it is tried again.
    with failing(server.services.store.db, "transaction", APPROVALS.add, 1 if fault == "lost" else 2, fault):
        task = await client.prompt(session, "[[say first]] [[run echo x >> count]]")
        question = await client.approval(session)
    pending = await client.get(f"/api/approvals?status=pending&session={session}")
    assert [approval["id"] for approval in pending["approvals"]] == [question["id"]]
    await client.post(f"/api/approvals/{question['id']}", {"decision": "allow"})
    ended = await client.wait_task(task)
    assert (ended["status"], ended["attempt"]) == ("completed", 1)
    assert (server.root / "repo0" / "count").read_text() == "x\n"


async def test_a_question_is_not_confirmed_by_a_later_write(server: Running) -> None:
    """P4, Q4: while a question cannot be stored, what else is stored does not count its line as received."""
    client = server.client
    session = await open_session(server, permissionMode="ask")
    with failing(server.services.store.db, "transaction", APPROVALS.add, 6, "io") as failures:
        task = await client.prompt(session, "[[say before]] [[run true]]")
        await eventually(lambda: failures.left < 5, "the question could not be stored twice")
        agent = server.services.runner.agents.get(session)
        assert agent is not None
        await agent.recorder.flush()
        # A kill at this moment leaves the line to the next server, which asks again.
        keepers = await server.services.store.read(lambda tx: tx.all(KEEPERS.all, Keeper))
        assert [keeper.stored for keeper in keepers] == [agent.recorder.last]
        last_line = agent.recorder.last
        question = await client.approval(session)
    assert agent.recorder.last > last_line
    await client.post(f"/api/approvals/{question['id']}", {"decision": "allow"})
    assert (await client.wait_task(task))["attempt"] == 1


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    "query", [TASKS.claim, KEEPERS.add, KEEPERS.ready, TREES.tell_asides, KEEPERS.stored, TASKS.finish]
)
async def test_no_turn_hangs(server: Running, query: Query, fault: Fault) -> None:
    """Q4, O2: whatever the database does at any step of a turn, the turn ends, its prompt is sent once, and the queue
    continues without a restart."""
    client = server.client
    session = await open_session(server, permissionMode="bypassPermissions")
    with failing(server.services.store.db, "transaction", query, 1, fault):
        first = await client.prompt(session, "[[run echo x >> count]] [[say one]]")
        behind = await client.prompt(session, "[[say two]]")
        for task in (first, behind):
            assert (await client.wait_task(task))["status"] == "completed"
    assert (server.root / "repo0" / "count").read_text() == "x\n"
    assert (await client.texts(session))[-2:] == ["one", "two"]
    session_now = await client.get(f"/api/sessions/{session}")
    assert (session_now["activity"], session_now["status"]) == ("idle", "active")


@pytest.mark.parametrize("fault", FAULTS)
async def test_an_agent_that_dies_while_the_database_is_away_is_noticed(server: Running, fault: Fault) -> None:
    """O2: the turn of an agent that dies during an outage is interrupted and continues as its next attempt."""
    client = server.client
    session = await open_session(server, permissionMode="bypassPermissions")
    with failing(server.services.store.db, "transaction", MESSAGES.of_task, 1 if fault == "lost" else 3, fault):
        task = await client.prompt(session, "[[say one]] [[crash]]")
        ended = await client.wait_task(task)
    assert (ended["status"], ended["attempt"]) == ("completed", 2)


async def test_a_turn_that_ended_during_an_outage_is_not_repeated(server: Running) -> None:
    """Q4: reads that fail after the agent's answer do not make the turn look cut off."""
    client = server.client
    session = await open_session(server, permissionMode="bypassPermissions")
    task = await client.prompt(session, "[[slow 3 0.5]] [[say done]]")
    await client.wait_task(task, "running")
    with failing(server.services.store.db, "transaction", TASKS.finish, 4, "io"):
        ended = await client.wait_task(task)
    assert (ended["status"], ended["attempt"], ended["error"]) == ("completed", 1, None)
    assert not await messages(client, session, "error")


async def test_a_turn_that_nobody_runs_gets_an_owner(server: Running) -> None:
    """O2: a turn whose task broke in a way that nobody thought of is found, and continues as its next attempt."""
    client = server.client
    session = await open_session(server, permissionMode="bypassPermissions")
    task = await client.prompt(session, "[[hang]]")
    await client.wait_task(task, "running")
    running = next(turn for turn in asyncio.all_tasks() if turn.get_name() == f"turn {session}")
    running.cancel()
    ended = await client.wait_task(task)
    assert (ended["status"], ended["attempt"]) == ("completed", 2)
    assert (await messages(client, session, "error"))[0]["code"] == "turn_lost"


async def test_a_checkpoint_has_its_ref_before_its_row(tmp_path: Path) -> None:
    """W4, Q4: the files before a task are kept by git from the moment that they are recorded: a server that dies right
    after that commit leaves them to git."""
    crash = {"CRASH": "after:tell_asides"}
    async with ServerProcess(
        tmp_path / "data", tmp_path / "work", env=crash, module="tests.support.faults.crashing_server"
    ) as server:
        repo_path = make_repo(server.root / "repo")
        async with server.client() as client:
            repo = await client.repo(repo_path)
            session = (await client.session(repo["id"], permissionMode="bypassPermissions"))["id"]
            (repo_path / "note").write_text("precious")
            with contextlib.suppress(httpx.HTTPError):
                await client.prompt(session, "[[run rm note]]")
        assert server.process is not None
        async with asyncio.timeout(60):
            await server.process.wait()
        [ref] = git_output(repo_path, "for-each-ref", "--format=%(refname)", "refs/bough").split()
        assert git_output(repo_path, "show", f"{ref}:note") == "precious"
        git_output(repo_path, "gc", "--prune=now", "--quiet")
        assert git_output(repo_path, "show", f"{ref}:note") == "precious"


async def test_a_missing_ref_is_written_at_the_next_start(tmp_path: Path) -> None:
    """W4, Q4: a checkpoint whose ref is missing gets it back, so that git does not collect its files."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        repo_path = make_repo(server.root / "repo")
        async with server.client() as client:
            repo = await client.repo(repo_path)
            session = (await client.session(repo["id"], permissionMode="bypassPermissions"))["id"]
            (repo_path / "note").write_text("precious")
            task = await client.prompt(session, "[[run rm note]]")
            await client.wait_task(task)
            row = (await client.get(f"/api/tasks/{task}"))["checkpoints"]["before"]
        await server.stop(signal.SIGKILL)
        git_output(repo_path, "update-ref", "-d", row["ref"])
        await server.start()

        await eventually(lambda: row["ref"] in git_output(repo_path, "for-each-ref"), "the ref is back")
        git_output(repo_path, "gc", "--prune=now", "--quiet")
        async with server.client() as client:
            await client.post(f"/api/tasks/{task}/restore", {})
        assert (repo_path / "note").read_text() == "precious"


async def test_a_silent_keeper_keeps_nobody_else_waiting(server: Running) -> None:
    """P4, O2: an answer that a stopped keeper does not take does not hold up the answers of other sessions."""
    client = server.client
    silent = await open_session(server, permissionMode="ask")
    other = await open_session(server, permissionMode="ask")
    tasks = [await client.prompt(session, "[[run true]]") for session in (silent, other)]
    questions = [await client.approval(session) for session in (silent, other)]
    agent = server.services.runner.agents.get(silent)
    assert agent is not None
    keepers = [process for process in agents_below(server.data) if agent.keeper_id in process.cmdline()[-1]]
    keeper = keepers[0].pid
    os.kill(keeper, signal.SIGSTOP)
    try:
        for question in questions:
            await client.post(f"/api/approvals/{question['id']}", {"decision": "allow"})
        assert (await client.wait_task(tasks[1]))["status"] == "completed"
    finally:
        os.kill(keeper, signal.SIGCONT)
    assert (await client.wait_task(tasks[0]))["status"] == "completed"


@pytest.mark.postgres
async def test_a_stand_by_continues_running_tasks(tmp_path: Path, postgres_url: str) -> None:
    """O3: a server with a data folder of its own that takes over the database continues the running turn as its next
    attempt, and the queue behind it."""
    flags = ("--database", postgres_url)
    root = tmp_path / "work"
    async with ServerProcess(tmp_path / "one", root, flags) as first:
        async with first.client() as client:
            repo = await client.repo(make_repo(root / "repo"))
            session = (await client.session(repo["id"], permissionMode="bypassPermissions"))["id"]
            await client.ask(session, "[[say remember the heron]]")
            task = await client.prompt(session, "[[run echo x >> count]] [[hang]]")
            behind = await client.prompt(session, "[[recall]]")
            await eventually((root / "repo" / "count").exists, "the command has run")
        await first.stop(signal.SIGKILL)
        async with ServerProcess(tmp_path / "two", root, flags) as second, second.client() as client:
            ended = await client.wait_task(task)
            assert (ended["status"], ended["attempt"]) == ("completed", 2)
            assert (await client.wait_task(behind))["status"] == "completed"
            assert "remember the heron" in (await client.texts(session))[-1]
        assert (root / "repo" / "count").read_text() == "x\n"


async def test_nothing_is_acknowledged_without_a_database(server: Running) -> None:
    """Q4: when the database file is gone, health is red and prompts are refused; the server still stops."""
    client = server.client
    session = await open_session(server, permissionMode="bypassPermissions")
    await client.ask(session, "[[say hello]]")
    (server.data / "bough.db").unlink()
    for method, path in (("GET", "/api/health"), ("POST", f"/api/sessions/{session}/prompt")):
        answer = await client.http.request(method, path, json={"text": "[[say lost]]"} if method == "POST" else None)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "database_damaged")
        assert answer.headers["retry-after"] == "5"
