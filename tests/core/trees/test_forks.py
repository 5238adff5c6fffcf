"""Tests forks (B1, T2): a fork knows the conversation up to its point and nothing after it, whichever way its agent
learned it, and whatever happened to the original session."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterable, Mapping
from pathlib import Path

import pytest

from bough.agents.acp.client import AgentClient
from bough.core.transcripts import lineage, replay
from bough.model.message import Message
from tests.core.trees.tree_helpers import KINDS, Grove, add_demo, answer, grove
from tests.support.repos import make_repo


@pytest.fixture
async def trees(tmp_path: Path) -> AsyncGenerator[Grove]:
    for name, without in KINDS.items():
        add_demo(tmp_path, name, without)
    async with grove(tmp_path) as planted:
        yield planted


async def how(trees: Grove, session: str) -> str:
    """Returns how a fork learned the past."""
    return (await trees.get(session))["metadata"]["fork"]


@pytest.mark.parametrize("agent", KINDS)
async def test_both_kinds_of_fork_know_the_conversation(trees: Grove, agent: str) -> None:
    """B1: A native fork and a replayed one both answer *what did I tell you before?*; the parent continues alone."""
    parent = await trees.root(agent=agent)
    await trees.say(parent, "I am called heron.")
    fork, task = await trees.fork(parent, "[[recall]]")
    recalled = await answer(trees.client, task)
    assert "I am called heron." in recalled
    assert await how(trees, fork) == ("native" if agent == "native" else "replay")
    assert "fork knows" not in await trees.say(parent, "[[recall]] I am the parent.")
    assert "I am called heron." in await trees.say(parent, "[[recall]]")
    # What is said after the fork stays in the session where it was said.
    assert "I am the parent." not in await trees.say(fork, "[[recall]] The fork knows.")
    created = await trees.get(fork)
    assert (created["kind"], created["forkedFromSessionId"], created["parentSessionId"]) == ("fork", parent, None)
    assert (created["rootSessionId"], created["depth"]) == (parent, 0)


@pytest.mark.parametrize("agent", KINDS)
async def test_a_fork_of_a_fork_knows_every_ancestor(trees: Grove, agent: str) -> None:
    """B1: Each of three generations knows its ancestors up to where it was forked."""
    first = await trees.root(agent=agent)
    await trees.say(first, "one heron")
    second, task = await trees.fork(first, "two ibises")
    await answer(trees.client, task)
    third, task = await trees.fork(second, "[[recall]] three storks")
    recalled = await answer(trees.client, task)
    await trees.say(first, "four cranes")
    again, task = await trees.fork(third, "[[recall]]")
    last = await answer(trees.client, task)
    assert "one heron" in recalled and "two ibises" in recalled
    assert "three storks" in last and "one heron" in last and "four cranes" not in last
    assert (await trees.get(again))["rootSessionId"] == first


@pytest.mark.parametrize("agent", KINDS)
async def test_a_fork_without_prompts_can_be_forked(trees: Grove, agent: str) -> None:
    """B1: A fork of a fork that never ran knows what that one would know."""
    first = await trees.root(agent=agent)
    await trees.say(first, "one heron")
    second, nothing = await trees.fork(first)
    third, task = await trees.fork(second, "[[recall]]")
    assert nothing == "" and "one heron" in await answer(trees.client, task)
    assert (await trees.get(third))["branchTaskId"] is None


@pytest.mark.parametrize("agent", KINDS)
async def test_a_fork_at_an_earlier_task_knows_nothing_after_it(trees: Grove, agent: str) -> None:
    """B1: Replays the transcript up to the chosen task."""
    parent = await trees.root(agent=agent)
    first = await trees.client.ask(parent, "one heron")
    await trees.say(parent, "two ibises")
    fork, task = await trees.fork(parent, "[[recall]]", taskId=first["id"])
    recalled = await answer(trees.client, task)
    assert "one heron" in recalled and "ibises" not in recalled
    assert await how(trees, fork) == "replay"
    assert (await trees.get(fork))["branchTaskId"] == first["id"]


@pytest.mark.parametrize("agent", KINDS)
async def test_a_fork_during_a_turn_starts_before_it(trees: Grove, agent: str) -> None:
    """B1: Forks after the last finished task, without the running prompt or half an answer, and does not disturb the
    turn."""
    parent = await trees.root(agent=agent)
    await trees.say(parent, "one heron")
    async with trees.client.events(parent) as events:
        running = await trees.client.prompt(parent, "two ibises [[say half]] [[hang]]")
        await events.until(lambda event: event["type"].startswith("message.") and "half" in str(event["data"]))
        fork, task = await trees.fork(parent, "[[recall]]")
        recalled = await answer(trees.client, task)
    assert "one heron" in recalled and "ibises" not in recalled and "half" not in recalled
    assert await how(trees, fork) == "replay"
    assert (await trees.client.get(f"/api/tasks/{running}"))["status"] == "running"
    await trees.client.post(f"/api/sessions/{parent}/stop")


async def test_a_fork_is_replayed_if_its_parent_has_continued(trees: Grove) -> None:
    """B1: A native copy would contain the present; a fork that starts later gets the transcript of its point
    instead."""
    parent = await trees.root(agent="native")
    await trees.say(parent, "one heron")
    fork, _ = await trees.fork(parent)
    assert (await trees.get(fork))["activity"] == "not_started"
    assert await trees.tasks(fork) == []
    await trees.say(parent, "two ibises")
    recalled = await trees.say(fork, "[[recall]]")
    assert "one heron" in recalled and "ibises" not in recalled
    assert await how(trees, fork) == "replay"


async def test_a_copy_of_a_busy_parent_is_discarded(trees: Grove, monkeypatch: pytest.MonkeyPatch) -> None:
    """B1: Discards a native copy if the parent did not stay idle while it was made."""
    parent = await trees.root(agent="native")
    await trees.say(parent, "one heron")
    original = AgentClient.fork_session

    async def late(self: AgentClient, *arguments: object, **options: object) -> object:
        await trees.say(parent, "two ibises")
        return await original(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(AgentClient, "fork_session", late)
    fork, task = await trees.fork(parent, "[[recall]]")
    recalled = await answer(trees.client, task)
    assert "one heron" in recalled and "ibises" not in recalled
    assert await how(trees, fork) == "replay"


@pytest.mark.parametrize("end", ["complete", "archive", "cancel"])
async def test_an_ended_session_can_be_forked(trees: Grove, end: str) -> None:
    """T2: Forks a session whoever ended it; the fork is active and listed."""
    parent = await trees.root(agent="native")
    await trees.say(parent, "one heron")
    if end == "cancel":
        await trees.client.call("DELETE", f"/api/sessions/{parent}")
    else:
        await trees.client.post(f"/api/sessions/{parent}/{end}")
    fork, task = await trees.fork(parent, "[[recall]]")
    assert "one heron" in await answer(trees.client, task)
    created = await trees.get(fork)
    assert (created["status"], created["archived"]) == ("active", False)


async def test_a_session_in_fatal_error_can_be_forked(tmp_path: Path) -> None:
    """T2: It cannot be resumed, the refusal says to fork it, and the fork knows the conversation."""
    add_demo(tmp_path, "native", [])
    async with grove(tmp_path, max_deaths=1) as trees:
        parent = await trees.root(agent="native")
        await trees.say(parent, "one heron")
        assert (await trees.client.ask(parent, "two ibises [[crash]]"))["status"] == "failed"
        assert (await trees.get(parent))["status"] == "error"
        error = await trees.refused(f"{parent}/prompt", {"text": "more", "resume": True})
        assert error["code"] == "session_failed" and "Fork" in error["message"]
        _, task = await trees.fork(parent, "[[recall]]")
        recalled = await answer(trees.client, task)
        assert "one heron" in recalled and "two ibises" in recalled


async def test_a_fork_with_another_agent_is_replayed(trees: Grove) -> None:
    """B1: Any agent can be chosen; model and effort are not inherited, because another agent would not know them."""
    parent = await trees.root(agent="native", model="demo-large", effort="high")
    await trees.say(parent, "one heron")
    fork, task = await trees.fork(parent, "[[recall]]", agent="demo")
    assert "one heron" in await answer(trees.client, task)
    created = await trees.get(fork)
    assert (created["agent"], created["model"], created["effort"]) == ("demo", None, None)
    assert await how(trees, fork) == "replay"


async def test_replayed_directives_are_not_obeyed(trees: Grove) -> None:
    """B1: Directives in a replayed transcript have no effect."""
    parent = await trees.root(agent="told", permissionMode="bypassPermissions")
    await trees.say(parent, "[[run echo x >> count]] [[say done]]")
    _, task = await trees.fork(parent, "[[recall]]")
    assert "[[run echo x >> count]]" in await answer(trees.client, task)
    assert (trees.server.root / "repo" / "count").read_text() == "x\n"


async def test_a_long_transcript_is_shortened_with_a_notice(trees: Grove, monkeypatch: pytest.MonkeyPatch) -> None:
    """B1: Leaves out what does not fit, and says what in the fork's transcript."""
    parent = await trees.root(agent="told", permissionMode="bypassPermissions")
    await trees.say(parent, "oldest heron")
    await trees.say(parent, "older " * 50)
    await trees.say(parent, "[[run seq 1 300]]")
    await trees.say(parent, "newest ibis")
    read: list[Message] = []
    real = replay.HistoryText.add

    def seen(telling: replay.HistoryText, messages: Iterable[Message], texts: Mapping[str, str]) -> None:
        # Rendering many long messages takes a while, so it must not block the event loop.
        assert threading.current_thread() is not threading.main_thread()
        page = list(messages)
        read.extend(page)
        real(telling, page, texts)

    monkeypatch.setattr(replay, "LARGEST_REPLAY", 400)
    monkeypatch.setattr(replay.HistoryText, "add", seen)
    monkeypatch.setattr(lineage, "PAGE", 2)
    fork, task = await trees.fork(parent, "[[recall]]")
    recalled = await answer(trees.client, task)
    assert "newest ibis" in recalled and "oldest heron" not in recalled
    [notice] = [item["text"] for item in await trees.contents(fork, "notice") if "not all of it" in item["text"]]
    assert "output of 1 tool calls" in notice and "oldest entries" in notice
    # What does not fit is only counted.
    assert b"oldest heron" not in b"".join(bytes(item.content) for item in read)
    assert len(read) < len(await trees.client.get(f"/api/sessions/{parent}/messages"))


async def test_impossible_forks_are_refused(trees: Grove) -> None:
    """B1: Refuses a task of another session, one that has not ended, and a spawn at a task."""
    first, second = await trees.root(agent="native"), await trees.root(agent="native")
    ended = await trees.client.ask(first, "one")
    running = await trees.client.prompt(second, "[[hang]]")
    for session, kind, body, code, status in (
        (second, "fork", {"taskId": ended["id"]}, "task_of_other_session", 400),
        (second, "fork", {"taskId": running}, "task_not_ended", 409),
        (first, "spawn", {"taskId": ended["id"], "prompt": "x"}, "bad_branch", 400),
        (first, "spawn", {}, "empty_prompt", 400),
        (first, "fork", {"agent": "nobody"}, "unknown_agent", 400),
        (first, "btw", {"prompt": "x", "permissionMode": "default"}, "bad_branch", 400),
    ):
        assert (await trees.refused(f"{session}/{kind}", body, status))["code"] == code
    assert (await trees.client.get("/api/sessions"))["total"] == 2
    await trees.client.post(f"/api/sessions/{second}/stop")


async def test_one_key_creates_one_fork(trees: Grove) -> None:
    """A4: A repeated request returns the same fork."""
    parent = await trees.root(agent="native")
    calls = [trees.fork(parent, "[[say x]]", idempotencyKey="k") for _ in range(3)]
    assert len(set(await asyncio.gather(*calls))) == 1
    assert (await trees.client.get("/api/sessions"))["total"] == 2


async def test_a_copy_does_not_count_its_past_again(trees: Grove) -> None:
    """B5: An agent that counts over the whole conversation continues its count in a copy; only what is new belongs to
    the fork."""
    parent = await trees.root(agent="native")
    await trees.client.ask(parent, "[[say " + "word " * 400 + "]]")
    fork, task = await trees.fork(parent, "[[say two words]]")
    ended = await trees.client.wait_task(task)
    assert await how(trees, fork) == "native"
    assert 0 < ended["usage"]["totalTokens"] < 50
    assert 0 < ended["cost"]["amount"] < 0.00005
    assert (await trees.get(fork))["tokens"] == ended["usage"]["totalTokens"]


async def test_a_fork_in_a_removed_worktree_is_refused(trees: Grove) -> None:
    """B1: Refuses a fork whose folder no longer exists."""
    other = await trees.client.repo(make_repo(trees.server.root / "other"))
    worktree = await trees.client.post("/api/worktrees", {"repoId": other["id"], "branch": "gone"})
    parent = (await trees.client.post("/api/sessions", {"worktreeId": worktree["id"], "agent": "native"}))["id"]
    await trees.say(parent, "one heron")
    await trees.client.post(f"/api/sessions/{parent}/complete")
    await trees.client.call("DELETE", f"/api/worktrees/{worktree['id']}")
    assert (await trees.refused(f"{parent}/fork", {"prompt": "x"}))["code"] == "worktree_removed"


async def test_forks_can_be_told_apart_by_their_titles(trees: Grove) -> None:
    """B1: A fork without a title is named by its prompt, or else by its origin and the next free number; a fork of a
    fork counts on instead of repeating the word."""
    parent = await trees.root(agent="native", title="Rate limits")
    await trees.say(parent, "hello")

    async def title(source: str, **fields: str) -> str:
        forked = await trees.client.post(f"/api/sessions/{source}/fork", fields)
        return (await trees.get(forked["sessionId"]))["title"]

    assert (
        await title(parent, prompt="\nTry a sliding window  instead.\nThen compare.") == "Try a sliding window instead."
    )
    assert await title(parent, prompt="word " * 40) == f"{'word ' * 14}word…"
    assert await title(parent, title=" Mine ") == "Mine"
    first = await trees.client.post(f"/api/sessions/{parent}/fork", {})
    assert (await trees.get(first["sessionId"]))["title"] == "Rate limits (fork)"
    assert await title(parent) == "Rate limits (fork 2)"
    assert await title(first["sessionId"]) == "Rate limits (fork 3)"
