"""Tests prompts that are put into a running turn, and prompts that stop it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.core.helpers import add_agent, messages, open_in, open_session
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.faults.crashing_server import CRASH
from tests.support.server import Running, ServerProcess, serving


def steered_agent(folder: Path, heard: Path) -> None:
    """Adds an agent that takes prompts during its turns in its own ways."""
    command = ["{python}", "-m", "tests.support.misbehaving_agents.steered", str(heard)]
    add_agent(folder, "steered", command)
    file = folder / "data" / "agents" / "steered.toml"
    file.write_text(f'{file.read_text()}[steering]\nmethod = "_session/steering"\ntaken = ["injected"]\n')


async def working(client: Client, session: str, text: str = "work") -> str:
    """Sends a prompt and waits until its turn runs."""
    task = await client.prompt(session, text)
    await client.wait_task(task, "running")
    return task


async def shown(client: Client, session: str) -> list[tuple[str, str]]:
    """Returns the texts of a session's transcript with their roles, in order."""
    rows = await client.get(f"/api/sessions/{session}/messages")
    return [(row["role"], row["content"]["text"]) for row in rows if row["content"]["type"] == "text"]


async def test_a_prompt_goes_into_the_running_turn(server: Running) -> None:
    """Q8: A prompt that is sent now is taken by the running turn, ends as `steered`, and is shown where it was said."""
    client = server.client
    session = await open_session(server)
    turn = await working(client, session, "[[say before]] [[slow 600 60]]")
    await client.eventually(lambda: _said(client, session, "tick"))
    queued = await client.prompt(session, "[[say behind]]")
    steered = await client.wait_task(await client.prompt(session, "[[say heard]] [[fail enough]]", when="now"))
    assert (steered["status"], steered["stopReason"], steered["steersTaskId"]) == ("completed", "steered", turn)
    assert (await client.wait_task(turn))["status"] == "failed"
    assert (await client.wait_task(queued))["status"] == "completed"
    texts = await shown(client, session)
    place = texts.index(("user", "[[say heard]] [[fail enough]]"))
    assert texts[place - 1][0] == "agent" and texts[place - 1][1].startswith("before\ntick 1")
    assert texts[place + 1 :] == [("agent", "heard"), ("user", "[[say behind]]"), ("agent", "behind")]
    rows = await client.get(f"/api/sessions/{session}/messages")
    assert {row["taskId"] for row in rows[: place + 2]} == {turn}


async def _said(client: Client, session: str, text: str) -> bool | None:
    return any(text in answer for answer in await client.texts(session)) or None


async def test_several_prompts_are_taken_in_order(server: Running) -> None:
    """Q8: Prompts that are sent into one turn at once are all taken, in order, and the agent remembers them."""
    client = server.client
    session = await open_session(server)
    await working(client, session, "[[hang]]")
    tasks = [await client.prompt(session, f"also {number}", when="now") for number in range(5)]
    for task in tasks:
        assert (await client.wait_task(task))["stopReason"] == "steered"
    await client.post(f"/api/sessions/{session}/stop")
    await client.ask(session, "[[recall]]")
    recalled = (await client.texts(session))[-1].splitlines()
    assert [line for line in recalled if "also" in line] == [f"{number + 2}. also {number}" for number in range(5)]


async def test_without_a_turn_it_is_first(server: Running) -> None:
    """Q8: Without a running turn, a prompt that is sent now is the first of the queue."""
    client = server.client
    session = await open_session(server)
    await working(client, session, "[[hang]]")
    waiting = await client.prompt(session, "[[say second]]")
    await client.post(f"/api/sessions/{session}/stop")
    first = await client.prompt(session, "[[say first]]", when="now")
    await client.wait_task(waiting)
    assert (await client.get(f"/api/tasks/{first}"))["steersTaskId"] is None
    assert await client.texts(session) == ["first", "second"]


async def test_while_the_agent_starts_it_waits_for_the_prompt(server: Running) -> None:
    """Q8: A prompt that is sent now while the agent still starts goes into the turn once that has begun."""
    client = server.client
    session = await open_session(server)
    turn = await client.prompt(session, "[[slow 20 2]]")
    steered = await client.prompt(session, "and this", when="now")
    assert (await client.wait_task(turn))["status"] == "completed"
    assert (await client.wait_task(steered))["status"] == "completed"
    assert sum("and this" in text for text in await client.texts(session)) == 1


async def test_stop_and_send(server: Running) -> None:
    """Q8, T6: With `after_stop` the running turn is stopped, and the prompt comes before the queue, which is not
    paused. A repeated request does it once."""
    client = server.client
    session = await open_session(server)
    turn = await working(client, session, "[[hang]]")
    behind = await client.prompt(session, "[[say behind]]")
    body = {"text": "[[say instead]]", "when": "after_stop", "idempotencyKey": "once"}
    answers = [await client.post(f"/api/sessions/{session}/prompt", body) for _ in range(2)]
    assert answers[0] == answers[1]
    assert (await client.get(f"/api/tasks/{turn}"))["status"] == "cancelled"
    await client.wait_task(behind)
    assert await client.texts(session) == ["instead", "behind"]


async def test_stop_and_send_without_a_turn(server: Running) -> None:
    """Q8: With `after_stop` and no turn to stop, the prompt just runs."""
    client = server.client
    session = await open_session(server)
    await client.wait_task(await client.prompt(session, "[[say here]]", when="after_stop"))
    assert await client.texts(session) == ["here"]


async def test_an_agent_that_cannot_be_steered(tmp_path: Path) -> None:
    """Q8: A prompt for the turn of an agent that takes none is refused, and the error says what to do; an unknown
    `when` is refused, too."""
    add_agent(tmp_path, "plain", ["{python}", "-m", "bough.agents.demo", "--without", "steering"])
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="plain")
        await working(client, session, "[[hang]]")
        path = f"/api/sessions/{session}/prompt"
        refused = await client.post(path, {"text": "now", "when": "now"}, expect=409)
        assert refused["error"]["code"] == "cannot_steer" and "after_stop" in refused["error"]["message"]
        await client.post(path, {"text": "now", "when": "soon"}, expect=400)
        assert (await client.get(f"/api/sessions/{session}/tasks"))["total"] == 1
        await client.wait_task(await client.prompt(session, "[[say instead]]", when="after_stop"))
        assert await client.texts(session) == ["instead"]


@pytest.mark.parametrize(
    ("text", "stop_reason", "heard"),
    [
        ("late", "steered", ["prompt: work", "steering: late"]),
        ("too late", "end_turn", ["prompt: work", "steering: too late", "prompt: too late"]),
        ("refuse", "end_turn", ["prompt: work", "steering: refuse", "prompt: refuse"]),
        ("odd", "end_turn", ["prompt: work", "steering: odd", "prompt: odd"]),
    ],
)
async def test_a_race_with_the_end_of_the_turn(tmp_path: Path, text: str, stop_reason: str, heard: list[str]) -> None:
    """Q8: Whichever way the agent answers, and in whichever order, the prompt reaches it exactly once: what it has not
    taken is the first of the queue."""
    steered_agent(tmp_path, tmp_path / "heard")
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="steered")
        turn = await working(client, session)
        behind = await client.prompt(session, "behind")
        task = await client.wait_task(await client.prompt(session, text, when="now"))
        assert (task["status"], task["stopReason"]) == ("completed", stop_reason)
        assert (await client.wait_task(turn))["status"] == "completed"
        await client.wait_task(behind)
        assert (tmp_path / "heard").read_text().splitlines() == [*heard, "prompt: behind"]
        assert [text for role, text in await shown(client, session) if role == "user"] == ["work", text, "behind"]


@pytest.mark.parametrize("text", ["die", "silent"])
async def test_an_agent_that_never_answers(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q8, Q4: If the agent dies before it has answered, or does not answer and is ended, the prompt is the first of the
    queue, and the next agent is told that the one before may have read it."""
    monkeypatch.setattr("bough.core.turns.steer_turns.ANSWER_WITHIN", 0.5)
    steered_agent(tmp_path, tmp_path / "heard")
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="steered")
        turn = await working(client, session)
        behind = await client.prompt(session, "behind")
        task = await client.wait_task(await client.prompt(session, text, when="now"))
        assert (task["status"], task["attempt"], task["steersTaskId"]) == ("completed", 2, turn)
        await client.wait_task(behind)
        heard = (tmp_path / "heard").read_text().splitlines()
        continued = ["prompt: You were interrupted while working on th"]
        again = continued if text == "die" else []
        assert heard == ["prompt: work", f"steering: {text}", *again, *continued, "prompt: behind"]


async def test_the_next_attempt_is_told_what_was_steered(server: Running) -> None:
    """Q8, O2: If the agent dies after it has taken a prompt, its next attempt is told both texts."""
    client = server.client
    session = await open_session(server)
    turn = await working(client, session, "[[hang]]")
    await client.wait_task(await client.prompt(session, "remember the milk", when="now"))
    await client.prompt(session, "[[crash]]", when="now")
    task = await client.wait_task(turn)
    assert (task["status"], task["attempt"]) == ("completed", 2)
    await client.ask(session, "[[recall]]")
    recalled = (await client.texts(session))[-1]
    assert "> [[hang]]" in recalled and "you were also told:\\n> remember the milk" in recalled


async def test_the_session_ends_before_it_is_sent(server: Running) -> None:
    """Q8, T3: A prompt on its way into a turn does not outlive its session: it is cancelled, or was taken."""
    client = server.client
    session = await open_session(server)
    await working(client, session, "[[hang]]")
    steered = await client.prompt(session, "too late", when="now")
    await client.call("DELETE", f"/api/sessions/{session}")
    task = await client.wait_task(steered)
    assert task["status"] == "cancelled" or task["stopReason"] == "steered"


@pytest.mark.parametrize("where", ["inside:steer_sent", "after:steer_sent", "inside:steer_taken", "after:steer_taken"])
async def test_a_kill_in_the_middle(tmp_path: Path, where: str) -> None:
    """Q8, Q4: A kill -9 before or after the prompt is sent, or before or after the answer is stored, neither loses nor
    doubles it."""
    env = {CRASH: where}
    server = ServerProcess(tmp_path / "data", tmp_path / "work", module="tests.support.faults.crashing_server", env=env)
    async with server:
        async with server.client() as client:
            session = await open_in(server, client)
            turn = await working(client, session, "[[hang]]")
            answer: dict[str, Any] = await client.post(
                f"/api/sessions/{session}/prompt", {"text": "once only", "when": "now"}
            )
        await eventually(lambda: _is_dead(server))
        server.module, server.env = "bough", {}
        await server.start()
        async with server.client() as client:
            task = await client.wait_task(answer["taskId"])
            assert (task["status"], task["stopReason"], task["attempt"]) == ("completed", "steered", 1)
            await client.eventually(lambda: _said(client, session, "once only"))
            assert (await client.post(f"/api/sessions/{session}/stop"))["task"]["attempt"] == 1
            assert (await client.get(f"/api/tasks/{turn}"))["status"] == "cancelled"
            assert sum(text.count("once only") for text in await client.texts(session)) == 1
            assert await client.texts(session, "user") == ["[[hang]]", "once only"]


async def _is_dead(server: ServerProcess) -> bool | None:
    await asyncio.sleep(0)
    return (server.process is None or server.process.returncode is not None) or None


async def test_the_notice_of_a_refusal(tmp_path: Path) -> None:
    """Q8: The transcript says that the agent has not taken the prompt."""
    steered_agent(tmp_path, tmp_path / "heard")
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="steered")
        await working(server.client, session)
        await server.client.wait_task(await server.client.prompt(session, "refuse", when="now"))
        notices = await messages(server.client, session, "notice")
        assert any("did not take the prompt" in notice["text"] for notice in notices)


async def test_waiting_for_a_steered_prompt_waits_for_its_turn(server: Running) -> None:
    """Q8, B5: Who waits for a prompt that went into a turn waits for the end of that turn."""
    client = server.client
    session = await open_session(server)
    turn = await working(client, session, "[[hang]]")
    steered = await client.wait_task(await client.prompt(session, "more", when="now"))
    wait = {"taskIds": [steered["id"]], "timeoutSeconds": 0}
    assert (await client.post("/api/wait", wait))["pending"] == [steered["id"]]
    await client.prompt(session, "[[fail enough]]", when="now")
    await client.wait_task(turn)
    done = (await client.post("/api/wait", wait))["done"]
    assert [(entry["id"], entry["status"]) for entry in done] == [(steered["id"], "failed")]
