"""Tests that each real agent continues, and nothing is lost or done twice, if only the program inside its adapter dies,
if the server is stopped in order, and after a huge answer."""

from __future__ import annotations

import signal
from dataclasses import replace

import psutil

from bough.core.transcripts.replay import HEADING
from tests.real_agents.helpers.agent_processes import agent_tree, asked, kill, start_streaming
from tests.real_agents.helpers.agent_under_test import Real
from tests.real_agents.helpers.measurements_table import Record

WHOLE = 10_000
"""Characters of each prompt that the model is to recall: more than there are."""
HUGE = 2_000_000


def inner_processes(real: Real) -> list[psutil.Process]:
    """Returns the innermost processes of the only running agent, without its own; none if it is one process."""
    *inside, _top = agent_tree(real)
    return [process for process in inside if not process.children()]


async def test_an_inner_process_dies(real: Real, record: Record) -> None:
    """O2, Q4: The program inside the agent's adapter is killed in a turn, and the adapter is not: the turn continues as
    attempt 2, the prompt is sent once, the queue behind it runs, and the conversation is kept. The next prompt also
    runs if the program is killed between turns."""
    session = await real.session(permissionMode="allow-all")
    await real.ask(session, "Remember the heron.")
    prompt = real.actions.slow(400)
    async with real.client.events(session) as events:
        task = await start_streaming(real, session, events, prompt=prompt)
    behind = [await real.client.prompt(session, real.actions.say(f"answer {number}")) for number in range(2)]
    inner = inner_processes(real)
    kill(inner or agent_tree(real))
    ended = await real.client.wait_task(task)
    assert (ended["status"], ended["attempt"], ended["error"]) == ("completed", 2, None)
    for queued in behind:
        done = await real.client.wait_task(queued)
        assert (done["status"], done["attempt"]) == ("completed", 1)
    assert await _times_sent(real, prompt) == 1
    await _knows_the_heron(real, session)
    record("its inner process killed in a turn", "continues as attempt 2" if inner else "is one process")

    kill(inner_processes(real) or agent_tree(real))
    prompt = real.actions.say("here again")
    assert (await real.ask(session, prompt))["status"] == "completed"
    assert await _times_sent(real, prompt) <= 1
    await _knows_the_heron(real, session)
    assert all("started again" in error for error in await _errors(real, session))
    record("its inner process killed between turns", "back with the next prompt" if inner else "is one process")


async def test_an_orderly_stop(real: Real, record: Record) -> None:
    """O1, O2: After an orderly stop of the server, the next one continues the conversation of an idle agent; one that
    cannot reopen a conversation has been kept running."""
    session = await real.session()
    await real.ask(session, "Remember the heron.")
    before = {process.pid for process in agent_tree(real)}
    await real.server.stop(signal.SIGTERM)
    survived = bool(before & set(psutil.pids()))
    await real.server.start()
    async with real.server.client() as client:
        again = replace(real, client=client)
        assert (await again.ask(session, real.actions.recall(WHOLE)))["status"] == "completed"
        known = await again.said(session)
        assert "heron" in known and "2 user turns" in known and HEADING not in known
    assert survived or real.agent != "gemini"
    record("server stopped in order, agent idle", "is kept running" if survived else "ended, and resumed")


async def test_a_huge_answer_is_shortened(real: Real, record: Record) -> None:
    """B1, Q4: A quoted transcript has an answer of 2 MB only in part, and everything before and after it."""
    session = await real.session()
    await real.ask(session, "Remember the heron.")
    assert (await real.ask(session, real.actions.big(HUGE)))["status"] == "completed"
    text = max(await real.client.texts(session), key=len)
    assert len(text.strip()) == HUGE
    last = await real.ask(session, "Remember the otter.")
    await real.ask(session, "Remember the newt.")
    made = await real.client.post(
        f"/api/sessions/{session}/fork", {"taskId": last["id"], "prompt": real.actions.recall(HUGE)}
    )
    assert (await real.client.wait_task(made["taskId"]))["status"] == "completed"
    known = await real.said(made["sessionId"])
    assert HEADING in known
    assert [word in known for word in ("heron", "otter", "newt", "x0000001")] == [True, True, False, True]
    assert len(known) < HUGE / 2
    record("answer of 2 MB in a quoted transcript", "shortened")


async def test_an_answer_that_repeats_itself(real: Real, record: Record) -> None:
    """R1: A model that says the same again and again is stopped by some agents, which drop its answer. The transcript
    says that the turn ended early, and the next prompt works."""
    session = await real.session()
    words = "again " * 500
    task = await real.ask(session, real.actions.say(words))
    is_shown = words.strip() in await real.said(session)
    messages = await real.client.get(f"/api/sessions/{session}/messages")
    ends_early = task["stopReason"] == "max_turn_requests" and "stopped early" in messages[-1]["content"]["text"]
    assert is_shown != ends_early
    assert (await real.ask(session, real.actions.recall(WHOLE)))["status"] == "completed"
    record("answer that repeats itself", "shown" if is_shown else "dropped, ends early with a notice")


async def _times_sent(real: Real, prompt: str) -> int:
    return len([entry for entry in await asked(real, prompt) if entry.last_user.strip() == prompt])


async def _knows_the_heron(real: Real, session: str) -> None:
    assert (await real.ask(session, real.actions.recall(WHOLE)))["status"] == "completed"
    assert "heron" in str((await real.model.last()).body)


async def _errors(real: Real, session: str) -> list[str]:
    contents = [message["content"] for message in await real.messages(session)]
    return [content["text"] for content in contents if content["type"] == "error"]
