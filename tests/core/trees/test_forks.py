"""B1, T2: a fork knows the conversation up to its point and nothing after it, however its agent came to know, and
whatever has become of the session it was forked from."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterable, Mapping
from pathlib import Path

import pytest

from bough.agents.acp.client import AgentClient
from bough.core.transcripts import lineage, replay
from bough.model.message import Message
from tests.support.repos import make_repo

from .kit import KINDS, Grove, add_demo, answer, grove


@pytest.fixture
async def trees(tmp_path: Path) -> AsyncGenerator[Grove]:
    for name, without in KINDS.items():
        add_demo(tmp_path, name, without)
    async with grove(tmp_path) as found:
        yield found


async def how(trees: Grove, session: str) -> str:
    """How a fork came to know the past."""
    return (await trees.get(session))["metadata"]["fork"]


@pytest.mark.parametrize("agent", KINDS)
async def test_both_kinds_of_fork_know_what_was_said(trees: Grove, agent: str) -> None:
    """B1: *what did I tell you before?* is answered by a copy and by one that was told; the parent goes on alone."""
    parent = await trees.root(agent=agent)
    await trees.say(parent, "I am called heron.")
    fork, task = await trees.fork(parent, "[[recall]]")
    said = await answer(trees.client, task)
    assert "I am called heron." in said
    assert await how(trees, fork) == ("native" if agent == "native" else "replay")
    assert "fork knows" not in await trees.say(parent, "[[recall]] I am the parent.")
    assert "I am called heron." in await trees.say(parent, "[[recall]]")
    # What is said after the fork stays where it is said.
    assert "I am the parent." not in await trees.say(fork, "[[recall]] The fork knows.")
    made = await trees.get(fork)
    assert (made["kind"], made["forkedFromSessionId"], made["parentSessionId"]) == ("fork", parent, None)
    assert (made["rootSessionId"], made["depth"]) == (parent, 0)


@pytest.mark.parametrize("agent", KINDS)
async def test_the_fork_of_a_fork_knows_all(trees: Grove, agent: str) -> None:
    """B1: three generations, each knows its ancestors up to where it left them."""
    first = await trees.root(agent=agent)
    await trees.say(first, "one heron")
    second, task = await trees.fork(first, "two ibises")
    await answer(trees.client, task)
    third, task = await trees.fork(second, "[[recall]] three storks")
    said = await answer(trees.client, task)
    await trees.say(first, "four cranes")
    again, task = await trees.fork(third, "[[recall]]")
    last = await answer(trees.client, task)
    assert "one heron" in said and "two ibises" in said
    assert "three storks" in last and "one heron" in last and "four cranes" not in last
    assert (await trees.get(again))["rootSessionId"] == first


@pytest.mark.parametrize("agent", KINDS)
async def test_the_fork_of_a_fork_that_never_ran_knows_what_that_would(trees: Grove, agent: str) -> None:
    """B1: a fork without a prompt is one that a fork can be made of."""
    first = await trees.root(agent=agent)
    await trees.say(first, "one heron")
    second, nothing = await trees.fork(first)
    third, task = await trees.fork(second, "[[recall]]")
    assert nothing == "" and "one heron" in await answer(trees.client, task)
    assert (await trees.get(third))["branchTaskId"] is None


@pytest.mark.parametrize("agent", KINDS)
async def test_a_fork_at_an_earlier_task_knows_nothing_after_it(trees: Grove, agent: str) -> None:
    """B1: replay up to the chosen task."""
    parent = await trees.root(agent=agent)
    first = await trees.client.ask(parent, "one heron")
    await trees.say(parent, "two ibises")
    fork, task = await trees.fork(parent, "[[recall]]", taskId=first["id"])
    said = await answer(trees.client, task)
    assert "one heron" in said and "ibises" not in said
    assert await how(trees, fork) == "replay"
    assert (await trees.get(fork))["branchTaskId"] == first["id"]


@pytest.mark.parametrize("agent", KINDS)
async def test_a_fork_beside_a_running_turn_is_of_the_state_before_it(trees: Grove, agent: str) -> None:
    """B1: after the last finished task: neither the running prompt nor half an answer; that turn is not disturbed."""
    parent = await trees.root(agent=agent)
    await trees.say(parent, "one heron")
    async with trees.client.events(parent) as events:
        running = await trees.client.prompt(parent, "two ibises [[say half]] [[hang]]")
        await events.until(lambda one: one["type"].startswith("message.") and "half" in str(one["data"]))
        fork, task = await trees.fork(parent, "[[recall]]")
        said = await answer(trees.client, task)
    assert "one heron" in said and "ibises" not in said and "half" not in said
    assert await how(trees, fork) == "replay"
    assert (await trees.client.get(f"/api/tasks/{running}"))["status"] == "running"
    await trees.client.post(f"/api/sessions/{parent}/stop")


async def test_a_fork_of_a_parent_that_moved_on_meanwhile_is_told(trees: Grove) -> None:
    """B1: a copy that the agent makes is of now; a fork that wakes later is of then."""
    parent = await trees.root(agent="native")
    await trees.say(parent, "one heron")
    fork, _ = await trees.fork(parent)
    assert (await trees.get(fork))["activity"] == "not_started"
    assert await trees.tasks(fork) == []
    await trees.say(parent, "two ibises")
    said = await trees.say(fork, "[[recall]]")
    assert "one heron" in said and "ibises" not in said
    assert await how(trees, fork) == "replay"


async def test_a_parent_that_moves_on_while_it_is_copied_is_not_copied(
    trees: Grove, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B1: what was at rest before the agent copied it must still be so after that."""
    parent = await trees.root(agent="native")
    await trees.say(parent, "one heron")
    original = AgentClient.fork_session

    async def late(self: AgentClient, *given: object, **options: object) -> object:
        await trees.say(parent, "two ibises")
        return await original(self, *given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(AgentClient, "fork_session", late)
    fork, task = await trees.fork(parent, "[[recall]]")
    said = await answer(trees.client, task)
    assert "one heron" in said and "ibises" not in said
    assert await how(trees, fork) == "replay"


@pytest.mark.parametrize("end", ["complete", "archive", "cancel"])
async def test_a_session_that_has_ended_can_be_forked(trees: Grove, end: str) -> None:
    """T2: whoever ended it, and how; the fork is active and seen."""
    parent = await trees.root(agent="native")
    await trees.say(parent, "one heron")
    if end == "cancel":
        await trees.client.call("DELETE", f"/api/sessions/{parent}")
    else:
        await trees.client.post(f"/api/sessions/{parent}/{end}")
    fork, task = await trees.fork(parent, "[[recall]]")
    assert "one heron" in await answer(trees.client, task)
    made = await trees.get(fork)
    assert (made["status"], made["archived"]) == ("active", False)


async def test_a_session_in_fatal_error_can_be_forked(tmp_path: Path) -> None:
    """T2: it cannot be resumed, the refusal says so, and the fork knows what was said."""
    add_demo(tmp_path, "native", [])
    async with grove(tmp_path, max_deaths=1) as trees:
        parent = await trees.root(agent="native")
        await trees.say(parent, "one heron")
        assert (await trees.client.ask(parent, "two ibises [[crash]]"))["status"] == "failed"
        assert (await trees.get(parent))["status"] == "error"
        error = await trees.refused(f"{parent}/prompt", {"text": "more", "resume": True})
        assert error["code"] == "session_failed" and "Fork" in error["message"]
        _, task = await trees.fork(parent, "[[recall]]")
        said = await answer(trees.client, task)
        assert "one heron" in said and "two ibises" in said


async def test_a_fork_into_another_agent_is_told(trees: Grove) -> None:
    """B1: any agent; model and effort are not taken along, since another agent would not know them."""
    parent = await trees.root(agent="native", model="demo-large", effort="high")
    await trees.say(parent, "one heron")
    fork, task = await trees.fork(parent, "[[recall]]", agent="demo")
    assert "one heron" in await answer(trees.client, task)
    made = await trees.get(fork)
    assert (made["agent"], made["model"], made["effort"]) == ("demo", None, None)
    assert await how(trees, fork) == "replay"


async def test_what_is_told_is_not_obeyed(trees: Grove) -> None:
    """B1: directives in the past stay in the past."""
    parent = await trees.root(agent="told", permissionMode="bypassPermissions")
    await trees.say(parent, "[[run echo x >> count]] [[say done]]")
    _, task = await trees.fork(parent, "[[recall]]")
    assert "[[run echo x >> count]]" in await answer(trees.client, task)
    assert (trees.server.root / "repo" / "count").read_text() == "x\n"


async def test_a_long_past_is_told_within_bounds_and_said_so(trees: Grove, monkeypatch: pytest.MonkeyPatch) -> None:
    """B1: what there is no room for is left out, and the fork's transcript says what."""
    parent = await trees.root(agent="told", permissionMode="bypassPermissions")
    await trees.say(parent, "oldest heron")
    await trees.say(parent, "older " * 50)
    await trees.say(parent, "[[run seq 1 300]]")
    await trees.say(parent, "newest ibis")
    read: list[Message] = []
    real = replay.Telling.add

    def seen(telling: replay.Telling, messages: Iterable[Message], texts: Mapping[str, str]) -> None:
        # Many long messages take a while to be made into text: not where all else waits.
        assert threading.current_thread() is not threading.main_thread()
        page = list(messages)
        read.extend(page)
        real(telling, page, texts)

    monkeypatch.setattr(replay, "LARGEST_REPLAY", 400)
    monkeypatch.setattr(replay.Telling, "add", seen)
    monkeypatch.setattr(lineage, "PAGE", 2)
    fork, task = await trees.fork(parent, "[[recall]]")
    said = await answer(trees.client, task)
    assert "newest ibis" in said and "oldest heron" not in said
    [told] = [item["text"] for item in await trees.contents(fork, "notice") if "not all of it" in item["text"]]
    assert "output of 1 tool calls" in told and "oldest entries" in told
    # What there is no room for is only counted.
    assert b"oldest heron" not in b"".join(bytes(item.content) for item in read)
    assert len(read) < len(await trees.client.get(f"/api/sessions/{parent}/messages"))


async def test_a_fork_is_refused_where_it_makes_no_sense(trees: Grove) -> None:
    """B1: a task of another session, one that has not ended, and a spawn at a task."""
    one, two = await trees.root(agent="native"), await trees.root(agent="native")
    ended = await trees.client.ask(one, "one")
    running = await trees.client.prompt(two, "[[hang]]")
    for session, kind, body, code, status in (
        (two, "fork", {"taskId": ended["id"]}, "task_of_other_session", 400),
        (two, "fork", {"taskId": running}, "task_not_ended", 409),
        (one, "spawn", {"taskId": ended["id"], "prompt": "x"}, "bad_branch", 400),
        (one, "spawn", {}, "empty_prompt", 400),
        (one, "fork", {"agent": "nobody"}, "unknown_agent", 400),
        (one, "btw", {"prompt": "x", "permissionMode": "default"}, "bad_branch", 400),
    ):
        assert (await trees.refused(f"{session}/{kind}", body, status))["code"] == code
    assert (await trees.client.get("/api/sessions"))["total"] == 2
    await trees.client.post(f"/api/sessions/{two}/stop")


async def test_the_same_key_makes_one_fork(trees: Grove) -> None:
    """A4: whoever asks twice is told of the same fork."""
    parent = await trees.root(agent="native")
    calls = [trees.fork(parent, "[[say x]]", idempotencyKey="k") for _ in range(3)]
    assert len(set(await asyncio.gather(*calls))) == 1
    assert (await trees.client.get("/api/sessions"))["total"] == 2


async def test_what_a_copy_was_told_before_is_not_paid_twice(trees: Grove) -> None:
    """B5: an agent that counts over the whole conversation counts on in a copy; only what is new is the fork's."""
    parent = await trees.root(agent="native")
    await trees.client.ask(parent, "[[say " + "word " * 400 + "]]")
    fork, task = await trees.fork(parent, "[[say two words]]")
    ended = await trees.client.wait_task(task)
    assert await how(trees, fork) == "native"
    assert 0 < ended["usage"]["totalTokens"] < 50
    assert 0 < ended["cost"]["amount"] < 0.00005
    assert (await trees.get(fork))["tokens"] == ended["usage"]["totalTokens"]


async def test_a_fork_in_a_worktree_that_is_gone_is_refused(trees: Grove) -> None:
    """B1: where it would work there is nothing any more."""
    other = await trees.client.repo(make_repo(trees.server.root / "other"))
    made = await trees.client.post("/api/worktrees", {"repoId": other["id"], "branch": "gone"})
    parent = (await trees.client.post("/api/sessions", {"worktreeId": made["id"], "agent": "native"}))["id"]
    await trees.say(parent, "one heron")
    await trees.client.post(f"/api/sessions/{parent}/complete")
    await trees.client.call("DELETE", f"/api/worktrees/{made['id']}")
    assert (await trees.refused(f"{parent}/fork", {"prompt": "x"}))["code"] == "worktree_removed"
