"""Tests side questions (B4): they run beside whatever the session does, change nothing, and their answer is delivered
once."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.policy import decide_for_session
from bough.core.store import records
from bough.core.store.sql import TREES
from bough.core.trees.requests import NewBranch
from bough.errors import Conflict
from bough.model.tool import ToolUse
from bough.model.trees.tree import AgentNote
from tests.core.trees.tree_helpers import KINDS, Grove, add_demo, answer, grove, session_caller
from tests.support.client import Json
from tests.support.eventually import eventually

# In minutes, a twentieth of a second.
SOON = 0.05 / 60


async def at_rest(trees: Grove, session: str) -> None:
    """Waits until a session has no agent."""
    agents = trees.server.services.runner.agents
    await eventually(lambda: session not in agents, "the session has no agent")


async def told(trees: Grove, session: str) -> list[Json]:
    return await trees.contents(session, "btw")


@pytest.mark.parametrize("agent", KINDS)
async def test_a_side_question_runs_beside_a_busy_parent(tmp_path: Path, agent: str) -> None:
    """B4: It knows the running turn and does not disturb it; its answer is in the transcript, and is sent to the agent
    with the next prompt only."""
    add_demo(tmp_path, agent, KINDS[agent])
    async with grove(tmp_path) as trees:
        client = trees.client
        parent = await trees.root(agent=agent, permissionMode="bypassPermissions")
        await trees.say(parent, "one heron")
        running = await client.prompt(parent, "two ibises [[hang]]")
        await client.wait_task(running, "running")
        aside, task = await trees.btw(parent, "[[recall]] [[run touch written]] what bird?")
        recalled = await answer(client, task)
        assert "one heron" in recalled and "two ibises" in recalled
        assert (await client.get(f"/api/tasks/{running}"))["status"] == "running"
        [shown] = await told(trees, parent)
        assert shown["question"].endswith("what bird?") and "one heron" in shown["text"]
        assert (shown["sessionId"], shown["taskId"], shown["status"]) == (aside, task, "completed")
        ended = await trees.get(aside)
        assert (ended["kind"], ended["parentSessionId"], ended["forkedFromSessionId"]) == ("btw", parent, parent)
        assert (ended["archived"], ended["status"], ended["permissionMode"]) == (True, "completed", "plan")
        assert ended["metadata"]["reason"] == "answered"
        assert not (trees.server.root / "repo" / "written").exists()
        await client.post(f"/api/sessions/{parent}/stop")
        first = await trees.say(parent, "[[recall]]")
        assert first.count("somebody asked") == 1 and "> [[recall]] [[run touch written]] what bird?" in first
        assert (await trees.say(parent, "[[recall]]")).count("somebody asked") == 1
        await at_rest(trees, aside)


@pytest.mark.parametrize("agent", KINDS)
async def test_an_answer_is_delivered_once_across_a_restart(tmp_path: Path, agent: str) -> None:
    """B4, Q4: An undelivered answer is a row; an agent that gets the whole transcript again does not get it twice."""
    add_demo(tmp_path, agent, KINDS[agent])
    async with grove(tmp_path) as trees:
        parent = await trees.root(agent=agent)
        await trees.say(parent, "one heron")
        _, task = await trees.btw(parent, "[[say grey]]")
        await answer(trees.client, task)
    async with grove(tmp_path) as trees:
        # Once in the question and once in its answer.
        assert (await trees.say(parent, "[[recall]]")).count("grey") == 2
    async with grove(tmp_path) as trees:
        await trees.say(parent, "[[say on]]")
        store = trees.server.services.store
        assert await store.read(lambda tx: tx.all(TREES.untold, AgentNote, session_id=parent)) == []
        recalled = await trees.say(parent, "[[recall]]")
        # The forgetful agent is sent the whole transcript again, and with it the answer to the first recall.
        assert recalled.count("grey") == (4 if agent == "forgetful" else 2)


async def test_a_side_question_is_read_only_and_asked_once(tmp_path: Path) -> None:
    """B4: Its mode stays plan; it accepts no other prompt, now or later, and cannot be resumed."""
    async with grove(tmp_path) as trees:
        parent = await trees.root(permissionMode="bypassPermissions")
        aside, task = await trees.btw(parent, "[[hang]]")
        await trees.client.wait_task(task, "running")
        for mode in ("default", "bypassPermissions"):
            refused = await trees.client.call(
                "PATCH", f"/api/sessions/{aside}", json={"permissionMode": mode}, expect=409
            )
            assert refused["error"]["code"] == "aside_reads_only"
        await trees.client.call("PATCH", f"/api/sessions/{aside}", json={"permissionMode": "plan", "title": "Ibis"})
        assert (await trees.refused(f"{aside}/prompt", {"text": "more"}))["code"] == "aside_asked_once"
        await trees.client.post(f"/api/sessions/{aside}/stop")
        error = await trees.refused(f"{aside}/prompt", {"text": "more", "resume": True})
        assert error["code"] == "aside_asked_once" and parent in error["message"]
        assert (await trees.refused(f"{aside}/resume", {}))["code"] == "aside_asked_once"
        # It can be forked, like everything in a tree.
        _, again = await trees.fork(aside, "[[say on]]")
        assert await answer(trees.client, again) == "on"


async def test_a_side_question_has_no_children(tmp_path: Path) -> None:
    """B4: It can neither be spawned from nor asked about, and its agent cannot create sessions elsewhere. A person may
    fork it."""
    async with grove(tmp_path) as trees:
        parent = await trees.root()
        aside, task = await trees.btw(parent, "[[say grey]]")
        await answer(trees.client, task)
        race: Json = {"contenders": [{}, {}], "kind": "spawn"}
        for path, more in (("spawn", {}), ("btw", {}), ("race", race)):
            error = await trees.refused(f"{aside}/{path}", {"prompt": "x", **more})
            assert error["code"] == "aside_has_no_children" and parent in error["message"]
        branches, own = trees.server.services.branches, session_caller(aside)
        for make in (branches.fork, branches.spawn, branches.side_question):
            with pytest.raises(Conflict, match="cannot create sessions"):
                await make(own, parent, NewBranch(prompt="x", permission_mode="plan"))
        with pytest.raises(Conflict, match="cannot create sessions"):
            await branches.fork(own, aside, NewBranch(worktree="new"))
        fork, _ = await trees.fork(aside)
        _, again = await trees.btw(fork, "[[say on]]")
        assert await answer(trees.client, again) == "on"
        tree = await trees.client.get(f"/api/sessions/{parent}/tree")
        assert [session["kind"] for session in tree["sessions"]] == ["root", "btw", "fork", "btw"]


@pytest.mark.parametrize(
    ("prompt", "status", "text"),
    [
        ("[[fail no luck]]", "failed", "no luck"),
        ("[[hang]]", "cancelled", "was cancelled"),
        ("[[think x]]", "completed", ""),
    ],
)
async def test_a_side_question_without_an_answer(tmp_path: Path, prompt: str, status: str, text: str) -> None:
    """B4: Says so whether it failed, was stopped or said nothing, and is archived like any other."""
    async with grove(tmp_path) as trees:
        parent = await trees.root()
        aside, task = await trees.btw(parent, prompt)
        if status == "cancelled":
            await trees.client.wait_task(task, "running")
            await trees.client.post(f"/api/sessions/{aside}/stop")
        assert (await trees.client.wait_task(task))["status"] == status
        [shown] = await told(trees, parent)
        assert shown["text"].startswith("No answer") and text in shown["text"] and shown["status"] == status
        ended = await trees.get(aside)
        assert (ended["archived"], ended["status"]) == (True, "completed")
        assert ended["metadata"]["reason"] == "unanswered"


async def test_a_cancelled_side_question(tmp_path: Path) -> None:
    """B4, T3: Says so if its session is cancelled while it waits for a slot or runs."""
    async with grove(tmp_path) as trees:
        parent = await trees.root()
        aside, task = await trees.btw(parent, "[[hang]]")
        await trees.client.wait_task(task, "running")
        await trees.client.call("DELETE", f"/api/sessions/{aside}")
        [shown] = await told(trees, parent)
        assert shown["status"] == "cancelled"
        ended = await trees.get(aside)
        assert (ended["archived"], ended["status"], ended["metadata"]["reason"]) == (True, "cancelled", "cancelled")


async def test_a_session_that_asks_about_another_gets_the_answer(tmp_path: Path, database_url: str) -> None:
    """B4: The asking session gets the answer as a callback; the other session's agent gets it with its next prompt."""
    async with grove(tmp_path, database=database_url) as trees:
        asker, other = await trees.root(), await trees.root()
        await trees.say(other, "one heron")
        branches = trees.server.services.branches
        asked_question = await branches.side_question(session_caller(asker), other, NewBranch(prompt="[[say grey]]"))
        [got] = await trees.rested(asker, 1)
        assert (got["source"], got["sourceSessionId"]) == ("callback", asked_question.session_id)
        assert "> [[say grey]]" in got["prompt"] and "> grey" in got["prompt"]
        [report] = await trees.callbacks(asker)
        assert (report.state, report.child_task_id) == ("delivered", asked_question.task_id)
        assert (await trees.say(other, "[[recall]]")).count("> grey") == 1
        # A session that asks about itself gets it with its next prompt and not twice.
        again = await branches.side_question(session_caller(asker), asker, NewBranch(prompt="[[say white]]"))
        await trees.client.wait_task(again.task_id or "")
        assert len(await trees.tasks(asker)) == 1
        assert (await trees.say(asker, "[[recall]]")).count("> white") == 1


async def test_the_answer_to_a_purged_session(tmp_path: Path) -> None:
    """B4: A question whose asker was purged ends like any other."""
    async with grove(tmp_path) as trees:
        asker, other = await trees.root(), await trees.root()
        branches = trees.server.services.branches
        asked_question = await branches.side_question(
            session_caller(asker), other, NewBranch(prompt="[[slow 2 0.5]] [[say grey]]")
        )
        await trees.client.call("DELETE", f"/api/sessions/{asker}?purge=true")
        assert "grey" in await answer(trees.client, asked_question.task_id or "")
        assert len(await told(trees, other)) == 1


async def test_a_side_question_about_a_session_that_never_ran(tmp_path: Path) -> None:
    """B4: It is answered without any past, and the session's first prompt includes it."""
    async with grove(tmp_path) as trees:
        parent = await trees.root()
        _, task = await trees.btw(parent, "[[recall]] [[say grey]]")
        assert "grey" in await answer(trees.client, task)
        assert (await trees.get(parent))["activity"] == "not_started"
        assert (await trees.say(parent, "[[recall]]")).count("somebody asked") == 1


async def test_a_side_question_stops_the_idle_timeout(tmp_path: Path) -> None:
    """T4: A session does not time out during a side question, but does after it; the question itself never does."""
    async with grove(tmp_path, idle_timeout=SOON) as trees:
        parent = await trees.root()
        aside, task = await trees.btw(parent, "[[slow 10 0.6]]")
        assert "tick 10" in await answer(trees.client, task)
        [shown] = await told(trees, parent)
        assert "tick 10" in shown["text"]

        async def ended() -> bool:
            return (await trees.get(parent))["status"] == "completed"

        await trees.client.eventually(ended)
        assert (await trees.get(parent))["metadata"]["reason"] == "idle_timeout"
        assert (await trees.get(aside))["metadata"]["reason"] == "answered"
        messages = await trees.client.get(f"/api/sessions/{parent}/messages")
        assert [message["content"]["type"] for message in messages] == ["btw"]


async def test_a_side_question_does_not_leave_plan(tmp_path: Path) -> None:
    """B4: Denies an agent that wants to leave mode plan without asking; any other session asks."""
    async with grove(tmp_path) as trees:
        parent = await trees.root(permissionMode="plan")
        aside, task = await trees.btw(parent, "[[say x]]")
        await answer(trees.client, task)
        store = trees.server.services.store
        effects: list[str] = []
        for item in (aside, parent):
            session = await store.read(lambda tx, item=item: records.session(tx, item))
            use = ToolUse(agent="demo", cwd=session.cwd, kind="switch_mode")
            verdict = await store.read(lambda tx, session=session, use=use: decide_for_session.judge(tx, session, use))
            effects.append(verdict.effect)
        assert effects == ["deny", "ask"]


@pytest.mark.parametrize("agent", ["native", "told"])
async def test_a_fork_of_a_side_question(tmp_path: Path, agent: str) -> None:
    """B1, B4: It knows the conversation up to the question and its answer, and nothing that was said elsewhere
    since."""
    add_demo(tmp_path, agent, KINDS[agent])
    async with grove(tmp_path) as trees:
        parent = await trees.root(agent=agent)
        await trees.say(parent, "one heron")
        aside, task = await trees.btw(parent, "two ibises")
        await answer(trees.client, task)
        await trees.say(parent, "three storks")
        fork, task = await trees.fork(aside, "[[recall]]")
        recalled = await answer(trees.client, task)
        assert "one heron" in recalled and "two ibises" in recalled and "storks" not in recalled
        assert (await trees.get(fork))["permissionMode"] == "plan"
