"""C2, C3: Tests real agents behind Bough behind an editor: `bough acp` offers a session's whole life, whichever agent
does the work. `tests/api/acp` tests every detail with the demo agent."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator

from tests.real_agents.helpers.agent_under_test import Real
from tests.real_agents.helpers.several_agents import leads
from tests.support.acp.acp_driver import Driver, Json
from tests.support.acp.acp_summary import message_texts, summarize_updates
from tests.support.eventually import eventually

RECALLED = 10_000
MANY = 400
"""Ticks that take longer than any test: the turn has to be stopped."""


@contextlib.asynccontextmanager
async def editing(real: Real) -> AsyncGenerator[Driver]:
    async with Driver.launch("bough", "acp", "--data", str(real.server.data)) as editor:
        yield editor


def params(real: Real, session: str | None = None, **wishes: str) -> Json:
    known = {"sessionId": session} if session is not None else {}
    meta = {"_meta": {"bough": wishes}} if wishes else {}
    return {"cwd": str(real.repo), "mcpServers": [], **known, **meta}


def heard(editor: Driver, session: str, since: int = 0) -> list[Json]:
    """Returns everything that an editor knows of a session."""
    return summarize_updates([update["update"] for update in editor.updates[since:] if update["sessionId"] == session])


@leads("claude-code", "codex")
async def test_life_of_a_session(real: Real) -> None:
    """C2, C3: Creates, prompts with approvals, sets a mode, cancels, lists, loads, forks and closes; editors that
    watched, that asked and that came later know the same."""
    actions, repo = real.actions, real.repo
    async with editing(real) as editor, editing(real) as watcher:
        opened = await editor.request("session/new", params(real, agent=real.agent, mode="default", title="Herons"))
        session = opened["sessionId"]
        assert (opened["_meta"]["bough"]["agent"], opened["modes"]["currentModeId"]) == (real.agent, "default")
        watcher.decide = lambda _: None
        await watcher.request("session/load", params(real, session))

        # Approvals: the first answer counts, and the other editor is told.
        done = await editor.prompt(session, f"Remember the heron. {actions.write('one.txt')} {actions.say('written')}")
        assert done == {"stopReason": "end_turn"}
        assert (repo / "one.txt").read_text() == "alpha\nbeta\n"
        assert "written" in editor.said(session)
        (question,) = editor.permissions
        assert question["params"]["toolCall"]["toolCallId"] in [tool["toolCallId"] for tool in editor.tools(session)]
        await watcher.until(lambda: len(watcher.withdrawn) == len(watcher.permissions) == 1)
        editor.decide = lambda _: "reject_once"
        await editor.prompt(session, actions.write("two.txt"))
        assert len(editor.permissions) == 2
        assert not (repo / "two.txt").exists()

        # A mode holds from the next prompt on, and every editor is told.
        await editor.request("session/set_mode", {"sessionId": session, "modeId": "acceptEdits"})
        await watcher.until(lambda: bool(watcher.of(session, "current_mode_update")))
        assert watcher.of(session, "current_mode_update")[-1]["currentModeId"] == "acceptEdits"
        await editor.prompt(session, actions.write("three.txt"))
        assert len(editor.permissions) == 2
        assert (repo / "three.txt").exists()

        # Stopped in the middle of its text.
        turn = editor.send_prompt(session, actions.slow(MANY))
        await editor.until(lambda: "tick 3" in editor.said(session))
        editor.notify("session/cancel", {"sessionId": session})
        assert await editor.answer(turn) == {"stopReason": "cancelled"}
        await real.model.wait_for(lambda entry: entry.aborted)

        await _same_for_all(real, session, editor, watcher)
        fork = await _fork(real, session, editor)

        # An editor that closes a session hears no more of it; other editors that have it open do.
        assert await editor.request("session/close", {"sessionId": session}) == {}
        before = len(editor.updates)
        await watcher.prompt(session, actions.say("still open"))
        assert "still open" in watcher.said(session)
        assert await editor.request("session/close", {"sessionId": fork}) == {}
        assert [update for update in editor.updates[before:] if update["sessionId"] == session] == []
    sessions = (await real.client.get("/api/sessions"))["sessions"]
    assert {item["status"] for item in sessions if item["id"] in (session, fork)} == {"active"}


async def _same_for_all(real: Real, session: str, editor: Driver, watcher: Driver) -> None:
    """C2: A replay equals what was streamed, apart from chunking; the editor that asked was not sent its own
    prompts."""
    async with editing(real) as late:
        await late.request("session/load", params(real, session))
        replayed = heard(late, session)
    assert [item["kind"] for item in replayed].count("user_message_chunk") == 4
    assert sum("toolCallId" in item for item in replayed) >= 3
    await eventually(lambda: heard(watcher, session) == replayed or len(heard(watcher, session)) > len(replayed))
    assert heard(watcher, session) == replayed
    assert heard(editor, session) == [item for item in replayed if item["kind"] != "user_message_chunk"]


async def _fork(real: Real, session: str, editor: Driver) -> str:
    """C2: A fork knows what was said, is listed with its origin, and loads with all of it."""
    forked = await editor.request("session/fork", params(real, session))
    fork = forked["sessionId"]
    assert (forked["_meta"]["bough"]["forkedFromSessionId"], forked["_meta"]["bough"]["agent"]) == (session, real.agent)
    # In full: an agent that cannot fork gets all of it in its first prompt.
    assert "heron" in await editor.ask(fork, real.actions.recall(RECALLED))
    listed = (await editor.request("session/list", {"cwd": str(real.repo)}))["sessions"]
    lineage = {item["sessionId"]: item["_meta"]["bough"]["forkedFromSessionId"] for item in listed}
    assert lineage == {session: None, fork: session}
    assert {item["title"] for item in listed if item["sessionId"] == session} == {"Herons"}
    before = len(editor.updates)
    await editor.request("session/load", params(real, fork))
    texts = message_texts(heard(editor, fork, before))
    assert "Remember the heron." in texts[0]
    assert "heron" in texts[-1]
    return fork
