"""Tests a session from end to end, as a new user would try it, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio

from tests.support.server import Running


async def test_a_prompt_gets_an_answer(server: Running) -> None:
    """A1, Q2: A session that is created with a prompt starts by itself, and its transcript has the prompt and then the
    answer."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], initialPrompt="hello")
    await client.wait_task(session["taskId"])
    assert await client.texts(session["id"], "user") == ["hello"]
    assert await client.texts(session["id"]) == ['You said "hello". This is user turn 1.']


async def test_queued_prompts_run_in_order(server: Running) -> None:
    """Q1: Queued prompts run one at a time, in order, each exactly once."""
    client = server.client
    repo = await client.repo(server.repo())
    session = (await client.session(repo["id"]))["id"]
    tasks = [await client.prompt(session, f"[[say answer {number}]]") for number in range(8)]
    await client.wait_task(tasks[-1])
    assert await client.texts(session) == [f"answer {number}" for number in range(8)]
    page = await client.get(f"/api/sessions/{session}/tasks")
    assert [task["status"] for task in page["tasks"]] == ["completed"] * 8


async def test_an_approval_is_requested_and_decided(server: Running) -> None:
    """P4: An approval reaches a person, and the decision reaches the agent."""
    client = server.client
    repo = await client.repo(server.repo())
    session = (await client.session(repo["id"], permissionMode="ask"))["id"]
    task = await client.prompt(session, "[[write a.txt text]]")
    approval = await client.approval(session)
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
    assert (await client.wait_task(task))["status"] == "completed"
    assert (server.root / "repo" / "a.txt").read_text() == "text"


async def test_every_change_is_an_event_in_order(server: Running) -> None:
    """A3: A stream from the start carries every event, with rising cursors."""
    client = server.client
    repo = await client.repo(server.repo())
    session = (await client.session(repo["id"]))["id"]
    tasks = [await client.prompt(session, "[[slow 3 0.1]]"), await client.prompt(session, "bye")]
    await client.wait_task(tasks[-1])
    async with client.events(session, 0) as events:
        await events.until(lambda event: event.get("objectId") == tasks[-1] and event["data"]["status"] == "completed")
    durable = [event for event in events.seen if "cursor" in event and "data" in event]
    cursors = [event["cursor"] for event in durable]
    assert cursors == sorted(set(cursors))
    moves = [event["data"]["status"] for event in durable if event["objectId"] == tasks[0]]
    assert [status for at, status in enumerate(moves) if moves[at - 1 : at] != [status]] == [
        "queued",
        "dispatching",
        "running",
        "completed",
    ]


async def test_many_at_once(server: Running) -> None:
    """Q1: Accepts twenty prompts for five sessions at once, without a locking error."""
    client = server.client
    repo = await client.repo(server.repo())
    opened = await asyncio.gather(*(client.session(repo["id"]) for _ in range(5)))
    tasks = await asyncio.gather(
        *(client.prompt(session["id"], f"[[say {at}]]") for session in opened for at in range(4))
    )
    ended = await asyncio.gather(*(client.wait_task(task) for task in tasks))
    assert [task["status"] for task in ended] == ["completed"] * 20
