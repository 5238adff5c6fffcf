"""Tests several editors on one session: one order for all, one answer that counts, independent disconnects."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tests.api.acp.editor_client import Editor, editing
from tests.support.acp.acp_driver import Json, Refused
from tests.support.acp.acp_summary import message_texts
from tests.support.eventually import eventually
from tests.support.server import Running


def queue_of(editor: Editor, session: str) -> Json:
    """Returns what the editor last learned about the queue."""
    queues = [item["_meta"]["bough"]["queue"] for item in editor.of(session, "session_info_update") if "_meta" in item]
    return queues[-1] if queues else {"waiting": [], "paused": False}


async def test_same_turn_for_all(server: Running, editor: Editor) -> None:
    """C2: All editors see the same in the same order, whoever prompted; one that joins late gets the past, then the
    rest."""
    session = await editor.open()
    async with editing(server) as second, editing(server) as late:
        await second.load(session)
        turn = editor.send_prompt(session, "[[say begin]] [[run echo hi]] [[slow 60 1.2]] [[say end]]")
        # In the middle of a growing message.
        await second.until(lambda: len(second.of(session, "agent_message_chunk")) > 8)
        assert not editor._answers[turn].done()  # pyright: ignore[reportPrivateUsage]
        await late.load(session)
        before = late.story(session)
        assert before
        assert await editor.answer(turn) == {"stopReason": "end_turn"}
        for item in (second, late):
            await item.heard(session, "end")
            await item.until(lambda item=item: "usage_update" in item.kinds(session))
        assert second.story(session) == late.story(session)
        assert second.story(session)[1:] == editor.story(session)
        async with editing(server) as after:
            await after.load(session)
            assert after.story(session) == late.story(session)
        # The second editor prompts.
        await second.prompt(session, "[[say mine]]")
        await editor.heard(session, "mine")
        assert message_texts(editor.story(session))[-2:] == ["[[say mine]]", "mine"]
        assert "[[say mine]]" not in message_texts(second.story(session))


async def test_first_answer_wins(server: Running, editor: Editor) -> None:
    """C2, P4: All editors get a permission request, including those that join later; the first answer counts and the
    other requests are withdrawn."""
    session = await editor.open("default")
    async with editing(server) as second, editing(server) as third:
        for item in (editor, second, third):
            item.decide = lambda _: None
        await second.load(session)
        turn = editor.send_prompt(session, "[[run echo hi > hi.txt]]")
        questions = [await editor.asked(), await second.asked()]
        await third.load(session)
        questions.append(await third.asked())
        assert len({item["params"]["toolCall"]["toolCallId"] for item in questions}) == 1
        second.respond(questions[1], "allow_once")
        assert await editor.answer(turn) == {"stopReason": "end_turn"}
        await editor.until(lambda: editor.withdrawn == [questions[0]["id"]])
        await third.until(lambda: third.withdrawn == [questions[2]["id"]])
        assert second.withdrawn == []
        # An answer that is late, repeated or not among the options does no harm.
        late = {"outcome": {"outcome": "selected", "optionId": "deny"}}
        for _ in range(2):
            editor.raw(_answer(questions[0]["id"], late))
        assert (editor.repo / "hi.txt").exists()
        turn = editor.send_prompt(session, "[[run echo ho > ho.txt]]")
        question = await editor.asked(2)
        unknown = {"outcome": {"outcome": "selected", "optionId": "whatever"}}
        editor.raw(_answer(question["id"], unknown))
        third.raw(_answer((await third.asked(2))["id"], {"outcome": 7}))
        second.respond(await second.asked(2), "reject_once")
        await editor.answer(turn)
        assert not (editor.repo / "ho.txt").exists()


async def test_a_disconnect_stops_nothing(server: Running, editor: Editor) -> None:
    """C2: Neither an editor that disappears in its own turn nor one that closes the session stops the turn."""
    session = await editor.open()
    async with editing(server) as second, editing(server) as third:
        await second.load(session)
        await third.load(session)
        editor.send_prompt(session, "[[slow 40 0.8]] [[say all of it]]")
        await second.heard(session, " ")
        await editor.vanish()
        since = len(third.updates)
        assert await third.request("session/close", {"sessionId": session}) == {}
        await second.heard(session, "all of it")
        await second.until(lambda: "usage_update" in second.kinds(session))
        assert third.kinds(session, since).count("usage_update") == 0
        # An editor that has closed the session can open it again.
        since = len(third.updates)
        await third.load(session)
        assert third.story(session, since) == second.story(session)
        turn = second.send_prompt(session, "[[slow 40 0.8]] [[say more]]")
        await third.until(lambda: len(third.of(session, "user_message_chunk")) == 3)
        await second.request("session/close", {"sessionId": session})
        assert await second.answer(turn) == {"stopReason": "cancelled"}
        await third.heard(session, "more")


async def test_all_editors_see_the_queue(server: Running, editor: Editor) -> None:
    """C2: Both editors see the second one's queued prompt; each can only cancel its own."""
    session = await editor.open()
    async with editing(server, capabilities={"session": {"notices": {}}}) as second:
        await second.load(session)
        first = editor.send_prompt(session, "[[say begun]] [[hang]]")
        await second.heard(session, "begun")
        assert queue_of(second, session)["waiting"] == []
        waiting = [second.send_prompt(session, f"[[say {word}]]") for word in ("one", "two")]
        await editor.until(lambda: len(queue_of(editor, session)["waiting"]) == 2)
        await second.until(lambda: len(queue_of(second, session)["waiting"]) == 2)
        assert [item["mine"] for item in queue_of(editor, session)["waiting"]] == [False, False]
        assert [item["mine"] for item in queue_of(second, session)["waiting"]] == [True, True]
        assert len(second.of(session, "notice")) == 2
        assert editor.of(session, "notice") == []
        # Cancels its own prompts, not the other editor's turn.
        second.notify("session/cancel", {"sessionId": session})
        assert [await second.answer(item) for item in waiting] == [{"stopReason": "cancelled"}] * 2
        await editor.until(lambda: queue_of(editor, session)["waiting"] == [])
        last = second.send_prompt(session, "[[say three]]")
        await editor.until(lambda: len(queue_of(editor, session)["waiting"]) == 1)
        # An editor without queued prompts stops the running turn.
        async with editing(server) as third:
            third.notify("session/cancel", {"sessionId": session})
            assert await editor.answer(first) == {"stopReason": "cancelled"}
        await second.until(lambda: queue_of(second, session)["paused"])
        # A stop pauses the queue; the next prompt continues it (T6).
        assert await editor.prompt(session, "[[say four]]") == {"stopReason": "end_turn"}
        assert await second.answer(last) == {"stopReason": "end_turn"}
        assert queue_of(second, session) == {"waiting": [], "paused": False}
        assert second.said(session).endswith("threefour")


async def test_cancel_right_after_a_prompt(server: Running, editor: Editor) -> None:
    """C2: A prompt that is cancelled right after it was sent is cancelled, by `$/cancel_request` too."""
    session = await editor.open()
    turn = editor.send_prompt(session, "[[hang]]")
    editor.notify("session/cancel", {"sessionId": session})
    assert await editor.answer(turn) == {"stopReason": "cancelled"}
    turn = editor.send_prompt(session, "[[say hanging]] [[hang]]")
    await editor.heard(session, "hanging")
    editor.notify("$/cancel_request", {"requestId": turn})
    with pytest.raises(Refused) as refused:
        await editor.answer(turn)
    assert refused.value.code == -32800
    turn = editor.send_prompt(session, "[[hang]]")
    editor.notify("$/cancel_request", {"requestId": turn})
    with pytest.raises(Refused):
        await editor.answer(turn)
    assert await editor.prompt(session, "[[say alive]]") == {"stopReason": "end_turn"}
    tasks = (await server.client.get(f"/api/tasks?sessionId={session}"))["tasks"]
    assert [task["status"] for task in tasks] == ["cancelled", "cancelled", "cancelled", "completed"]


async def test_cancel_withdraws_permission_requests(server: Running, editor: Editor) -> None:
    """C2, P4: Withdraws the requests of a cancelled turn in all editors; a closed session requests nothing."""
    session = await editor.open("default")
    async with editing(server) as second:
        editor.decide = second.decide = lambda _: None
        await second.load(session)
        turn = editor.send_prompt(session, "[[run echo hi]]")
        asked = [await editor.asked(), await second.asked()]
        await second.request("session/close", {"sessionId": session})
        await second.until(lambda: second.withdrawn == [asked[1]["id"]])
        editor.notify("session/cancel", {"sessionId": session})
        editor.respond(asked[0], "cancelled")
        assert await editor.answer(turn) == {"stopReason": "cancelled"}


async def test_load_during_the_editors_own_turn(editor: Editor) -> None:
    """C2: A session that is loaded again while its editor waits for a turn still reports the turn's end, once."""
    session = await editor.open()
    turns = [editor.send_prompt(session, f"[[slow 30 0.3]] [[say no. {number}]]") for number in range(2)]
    loads = since = 0
    while not all(editor._answers[turn].done() for turn in turns):  # pyright: ignore[reportPrivateUsage]
        since = len(editor.updates)
        await editor.load(session)
        loads += 1
    assert [await editor.answer(turn) for turn in turns] == [{"stopReason": "end_turn"}] * 2
    assert loads > 1
    await editor.heard(session, "no. 1")
    text = "".join(message_texts(editor.story(session, since)))
    assert (text.count("no. 0"), text.count("no. 1")) in ((1, 1), (2, 1), (2, 2))


async def test_requests_of_children(server: Running, editor: Editor) -> None:
    """P4, C2: A permission request of a child, or of its fork, goes to the editor of the nearest session above it."""
    editor.decide = lambda _: None
    session = await editor.open("default", title="top")
    await editor.prompt(session, "[[say ready]]")
    await editor.ask(session, "/spawn [[run echo child > child.txt]]")
    question = await editor.asked()
    assert question["params"]["sessionId"] == session
    child = question["params"]["_meta"]["bough"]["sessionId"]
    listed = {
        item["sessionId"]: item["_meta"]["bough"] for item in (await editor.request("session/list", {}))["sessions"]
    }
    assert listed[child]["parentSessionId"] == session
    # There it is a separate tool call, which ends with the answer.
    assert editor.tools(session)[-1]["toolCallId"] == question["params"]["toolCall"]["toolCallId"]
    async with editing(server) as second:
        second.decide = lambda _: None
        await second.load(child)
        other = await second.asked()
        assert other["params"]["sessionId"] == child
        editor.respond(question, "allow_once")
        await second.until(lambda: second.withdrawn == [other["id"]])
    await eventually(lambda: (editor.repo / "child.txt").exists())
    await editor.until(lambda: editor.tools(session)[-1]["status"] == "completed")
    await editor.heard(session, "Report:")
    fork = await server.client.post(f"/api/sessions/{session}/fork", {"prompt": "[[run echo fork > fork.txt]]"})
    question = await editor.asked(2)
    assert question["params"]["_meta"]["bough"]["sessionId"] == fork["sessionId"]
    editor.respond(question, "reject_once")
    await editor.until(lambda: editor.tools(session)[-1]["status"] == "failed")
    assert not (editor.repo / "fork.txt").exists()


def _answer(id: int, result: Json) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "result": result})


async def test_many_at_once(server: Running, editor: Editor) -> None:
    """C2: A dozen editors all get the same, and can all answer the same request without harm."""
    session = await editor.open("default")
    async with asyncio.TaskGroup() as group:
        done = asyncio.Event()

        async def watch() -> list[Json]:
            async with editing(server) as another:
                await another.load(session)
                ready.release()
                await done.wait()
                await another.heard(session, "over")
                return another.story(session)

        ready = asyncio.Semaphore(0)
        watchers = [group.create_task(watch()) for _ in range(12)]
        for _ in watchers:
            await ready.acquire()
        await editor.prompt(session, "[[run echo hi]] [[flood 300]] [[say over]]")
        done.set()
    stories = [watcher.result() for watcher in watchers]
    assert all(story == stories[0] for story in stories)
    assert stories[0][1:] == editor.story(session)
