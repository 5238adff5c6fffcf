"""Tests a database that fails for a moment, and two servers on one database: everything continues, and the second
server changes nothing."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path
from typing import Literal

import pytest

from bough.core.state import turn as turns
from bough.core.store import records
from bough.core.store.sql import APPROVALS, EVENTS, KEEPERS, TASKS
from bough.core.store.transactions import Store
from bough.core.turns import scheduler
from bough.errors import Busy
from bough.storage import migrate
from tests.core.helpers import messages, open_session
from tests.support.eventually import eventually
from tests.support.faults.database_faults import failing
from tests.support.server import Running, serving


async def test_the_scheduler_survives_a_failed_look(server: Running) -> None:
    """T5: After a failed look at the queues, running turns continue and new prompts run."""
    client = server.client
    asking = await open_session(server, permissionMode="ask")
    waiting = await client.prompt(asking, "[[run true]]")
    question = await client.approval(asking)
    other = await open_session(server)
    with failing(server.services.store.db, "read", TASKS.runnable) as failures:
        lost = await client.prompt(other, "[[say one]]")
        await failures.over()
    # The next prompt wakes it; without one, it looks again after some seconds.
    queued = await client.prompt(other, "[[say two]]")
    assert (await client.wait_task(lost))["status"] == "completed"
    assert (await client.wait_task(queued))["status"] == "completed"
    await client.post(f"/api/approvals/{question['id']}", {"decision": "allow"})
    ended = await client.wait_task(waiting)
    assert (ended["status"], ended["attempt"]) == ("completed", 1)


async def test_the_hub_survives_a_failed_read(server: Running) -> None:
    """A3: A subscriber gets what could not be sent at first, in order and without a gap."""
    client = server.client
    session = await open_session(server)
    # The hub must read what this store writes; it is notified of its own writes with the commit.
    elsewhere = Store(server.services.store.db)
    async with client.events() as events:
        with failing(server.services.store.db, "read", EVENTS.after) as failures:
            await elsewhere.write(lambda change: records.update_session(change, session, title="heron"))
            await client.ask(session, "[[say heron]]")
            await failures.over()
        done = await events.until(
            lambda event: event["type"] == "task.patched" and event["data"]["status"] == "completed"
        )
        cursors = [item["cursor"] for item in events.seen if item.get("cursor") is not None]
    assert cursors == list(range(cursors[0], done["cursor"] + 1))


async def test_a_decision_arrives_after_a_failed_read(server: Running) -> None:
    """P4: An acknowledged decision reaches its agent, and so do the decisions after it."""
    client = server.client
    session = await open_session(server, permissionMode="ask")
    task = await client.prompt(session, "[[run echo x >> count]] [[run echo y >> count]]")
    question = await client.approval(session)
    # By now the server has checked whether somebody else decided first; the next read is by the carrier of decisions.
    with failing(server.services.store.db, "read", APPROVALS.get) as failures:
        await client.post(f"/api/approvals/{question['id']}", {"decision": "allow"})
        await failures.over()
        second = await client.approval(session)
    assert second["id"] != question["id"]
    await client.post(f"/api/approvals/{second['id']}", {"decision": "allow"})
    assert (await client.wait_task(task))["attempt"] == 1
    assert (server.root / "repo0" / "count").read_text() == "x\ny\n"


async def test_an_approval_is_requested_after_a_failed_write(server: Running) -> None:
    """P4: A short fault of the database does not fail the agent's turn."""
    client = server.client
    session = await open_session(server, permissionMode="ask")
    with failing(server.services.store.db, "transaction", APPROVALS.add):
        task = await client.prompt(session, "[[run true]]")
        question = await client.approval(session)
    await client.post(f"/api/approvals/{question['id']}", {"decision": "allow"})
    ended = await client.wait_task(task)
    assert (ended["status"], ended["attempt"]) == ("completed", 1)


async def test_the_end_of_a_turn_is_stored_after_failed_writes(server: Running) -> None:
    """Q4: A turn whose end could not be stored twice completes, and the queue continues."""
    client = server.client
    session = await open_session(server)
    with failing(server.services.store.db, "transaction", TASKS.finish, 2):
        first = await client.prompt(session, "[[say one]]")
        behind = await client.prompt(session, "[[say two]]")
        for task in (first, behind):
            ended = await client.wait_task(task)
            assert (ended["status"], ended["attempt"], ended["error"]) == ("completed", 1, None)
    assert await client.texts(session) == ["one", "two"]
    assert (await client.get(f"/api/sessions/{session}"))["activity"] == "idle"


async def test_a_turn_that_nobody_claimed_gets_an_owner(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q4: A claim that was stored, though nobody knows, is found without a broken turn, and the prompt is sent."""
    client = server.client
    session = await open_session(server)
    claim = turns.claim

    async def in_doubt(store: Store, session_id: str) -> None:
        monkeypatch.setattr(turns, "claim", claim)
        await claim(store, session_id)

    monkeypatch.setattr(turns, "claim", in_doubt)
    monkeypatch.setattr(scheduler, "SCAN_EVERY", 0.2)
    ended = await client.wait_task(await client.prompt(session, "[[say heron]]"))
    assert (ended["status"], ended["attempt"]) == ("completed", 2)


@pytest.mark.parametrize("kind", ["transaction", "read"])
async def test_a_stop_whose_request_failed_reaches_the_agent(
    server: Running, monkeypatch: pytest.MonkeyPatch, kind: Literal["read", "transaction"]
) -> None:
    """T6, Q4: The turn is stopped, although the caller was told that the database failed after the commit."""
    client = server.client
    session = await open_session(server)
    monkeypatch.setattr(scheduler, "SCAN_EVERY", 0.2)
    task = await client.prompt(session, "[[slow 6000 0.5]]")
    await client.wait_task(task, "running")
    query = TASKS.waiting if kind == "transaction" else TASKS.get
    with failing(server.services.store.db, kind, query, fault="lost"):
        answer = await client.http.post(f"/api/sessions/{session}/stop")
    assert answer.status_code == 503
    assert (await client.wait_task(task))["status"] == "cancelled"


async def test_the_agent_of_an_ended_session_ends(server: Running) -> None:
    """T3, Q4: The agent of an idle session ends with it, although its request failed after the commit."""
    client, agents = server.client, server.services.runner.agents
    session = await open_session(server)
    await client.ask(session, "[[say heron]]")
    assert agents.get(session) is not None
    with failing(server.services.store.db, "transaction", TASKS.waiting, fault="lost"):
        answer = await client.http.post(f"/api/sessions/{session}/complete", json={})
    assert answer.status_code == 503
    await server.services.maintenance.run_once()
    await eventually(lambda: agents.get(session) is None, "the agent ends")


async def test_the_last_words_of_an_agent_are_stored(server: Running) -> None:
    """Q4: What an agent said before its process was ended is not lost because the database fails at that moment."""
    session = await open_session(server)
    await server.client.ask(session, "[[say heron]]")
    agents = server.services.runner.agents
    agent = agents.get(session)
    assert agent is not None
    # Otherwise the recorder may store it before the end.
    await agent._stop_listening()  # pyright: ignore[reportPrivateUsage]
    agent.recorder.add_notice("last words")
    with failing(server.services.store.db, "transaction", KEEPERS.stored):
        await agents.suspend(agent)
    assert [notice["text"] for notice in await messages(server.client, session, "notice")] == ["last words"]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a second server not wait for the first one to release the database."""
    monkeypatch.setattr("bough.app.OWN_WITHIN", 0.1)


@pytest.mark.usefixtures("impatient")
async def test_one_database_has_one_server(tmp_path: Path, database_url: str) -> None:
    """L1: A second server with its own data folder learns that the database is in use, and ends no agent."""
    async with serving(tmp_path / "one", database=database_url) as server:
        client = server.client
        session = await open_session(server, permissionMode="ask")
        task = await client.prompt(session, "[[run echo done]]")
        question = await client.approval(session)
        with pytest.raises(Busy, match="holds 'server' of"):
            async with serving(tmp_path / "two", database=database_url):
                pass
        row = await client.get(f"/api/tasks/{task}")
        assert (row["status"], row["attempt"]) == ("waiting_permission", 1)
        await client.post(f"/api/approvals/{question['id']}", {"decision": "allow"})
        ended = await client.wait_task(task)
        assert (ended["status"], ended["attempt"]) == ("completed", 1)
    # The database is free as soon as the first server has ended.
    async with serving(tmp_path / "two", database=database_url) as server:
        assert (await server.client.get(f"/api/tasks/{task}"))["status"] == "completed"


@pytest.mark.usefixtures("impatient")
async def test_a_newer_server_that_is_refused_changes_no_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L1, R6: A database in use is not upgraded under the server that uses it."""
    url = f"sqlite://{tmp_path}/bough.db"
    newer = shutil.copytree(migrate.FOLDER, tmp_path / "newer")
    number = len(migrate.read_folder(newer)) + 1
    (newer / f"{number:04}_tomorrow.up.sql").write_text("CREATE TABLE tomorrow (id TEXT PRIMARY KEY);\n")
    (newer / f"{number:04}_tomorrow.down.sql").write_text("DROP TABLE tomorrow;\n")
    async with serving(tmp_path / "one", database=url) as server:
        monkeypatch.setattr(migrate, "upgrade", functools.partial(migrate.upgrade, folder=newer))
        with pytest.raises(Busy):
            async with serving(tmp_path / "two", database=url):
                pass
        assert (await migrate.status(server.services.store.db)).version == number - 1
