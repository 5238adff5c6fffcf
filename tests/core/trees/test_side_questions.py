"""B4: a question aside runs beside whatever the session does, changes nothing, and its answer comes where it belongs,
once."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.policy import for_session
from bough.core.store import records
from bough.core.store.sql import TREES
from bough.core.trees.branch import Branch
from bough.errors import Conflict
from bough.model.tool import ToolUse
from bough.model.tree import Aside
from tests.support.client import Json
from tests.support.eventually import eventually

from .kit import KINDS, Grove, add_demo, answer, grove, session_caller

# A twentieth of a second, in minutes.
SOON = 0.05 / 60


async def at_rest(trees: Grove, session: str) -> None:
    """Waits until a session has no agent any more."""
    agents = trees.server.services.runner.agents
    await eventually(lambda: session not in agents, "the session has no agent")


async def told(trees: Grove, session: str) -> list[Json]:
    return await trees.contents(session, "btw")


@pytest.mark.parametrize("agent", KINDS)
async def test_it_runs_beside_a_busy_parent_and_is_told_once(tmp_path: Path, agent: str) -> None:
    """B4: it knows the turn that runs, does not disturb it; answer in the transcript, and to the agent with the next
    prompt, not with the one after it."""
    add_demo(tmp_path, agent, KINDS[agent])
    async with grove(tmp_path) as trees:
        client = trees.client
        parent = await trees.root(agent=agent, permissionMode="bypassPermissions")
        await trees.say(parent, "one heron")
        running = await client.prompt(parent, "two ibises [[hang]]")
        await client.wait_task(running, "running")
        aside, task = await trees.btw(parent, "[[recall]] [[run touch written]] what bird?")
        said = await answer(client, task)
        assert "one heron" in said and "two ibises" in said
        assert (await client.get(f"/api/tasks/{running}"))["status"] == "running"
        [shown] = await told(trees, parent)
        assert shown["question"].endswith("what bird?") and "one heron" in shown["text"]
        assert (shown["sessionId"], shown["taskId"], shown["status"]) == (aside, task, "completed")
        made = await trees.get(aside)
        assert (made["kind"], made["parentSessionId"], made["forkedFromSessionId"]) == ("btw", parent, parent)
        assert (made["archived"], made["status"], made["permissionMode"]) == (True, "completed", "plan")
        assert made["metadata"]["reason"] == "answered"
        assert not (trees.server.root / "repo" / "written").exists()
        await client.post(f"/api/sessions/{parent}/stop")
        first = await trees.say(parent, "[[recall]]")
        assert first.count("somebody asked") == 1 and "> [[recall]] [[run touch written]] what bird?" in first
        assert (await trees.say(parent, "[[recall]]")).count("somebody asked") == 1
        await at_rest(trees, aside)


@pytest.mark.parametrize("agent", KINDS)
async def test_it_is_told_once_across_a_restart(tmp_path: Path, agent: str) -> None:
    """B4, Q4: what waits to be told is a row; who is told the past anew is not told it there as well."""
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
        assert await store.read(lambda tx: tx.all(TREES.untold, Aside, session_id=parent)) == []
        recalled = await trees.say(parent, "[[recall]]")
        assert agent == "forgetful" or recalled.count("grey") == 2


async def test_it_reads_only_and_is_asked_once(tmp_path: Path) -> None:
    """B4: the mode stays plan; it takes no other prompt, while it runs and after; neither is it resumed."""
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
        # But it can be forked, like everything in a tree.
        _, again = await trees.fork(aside, "[[say on]]")
        assert await answer(trees.client, again) == "on"


async def test_nothing_grows_out_of_it(tmp_path: Path) -> None:
    """B4: it spawns nothing and nothing is asked about it; neither does its agent open sessions elsewhere. A person may
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
                await make(own, parent, Branch(prompt="x", permission_mode="plan"))
        with pytest.raises(Conflict, match="cannot create sessions"):
            await branches.fork(own, aside, Branch(worktree="new"))
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
async def test_one_without_an_answer_says_so(tmp_path: Path, prompt: str, status: str, text: str) -> None:
    """B4: failed, stopped, or nothing said; it is put away all the same."""
    async with grove(tmp_path) as trees:
        parent = await trees.root()
        aside, task = await trees.btw(parent, prompt)
        if status == "cancelled":
            await trees.client.wait_task(task, "running")
            await trees.client.post(f"/api/sessions/{aside}/stop")
        assert (await trees.client.wait_task(task))["status"] == status
        [shown] = await told(trees, parent)
        assert shown["text"].startswith("No answer") and text in shown["text"] and shown["status"] == status
        made = await trees.get(aside)
        assert (made["archived"], made["status"]) == (True, "completed")
        assert made["metadata"]["reason"] == "unanswered"


async def test_one_that_is_cancelled_says_so_too(tmp_path: Path) -> None:
    """B4, T3: with its session, while it waits for a place or runs."""
    async with grove(tmp_path) as trees:
        parent = await trees.root()
        aside, task = await trees.btw(parent, "[[hang]]")
        await trees.client.wait_task(task, "running")
        await trees.client.call("DELETE", f"/api/sessions/{aside}")
        [shown] = await told(trees, parent)
        assert shown["status"] == "cancelled"
        made = await trees.get(aside)
        assert (made["archived"], made["status"], made["metadata"]["reason"]) == (True, "cancelled", "cancelled")


async def test_a_session_that_asks_about_another_is_told(tmp_path: Path, database_url: str) -> None:
    """B4: the asker gets the answer as a callback; the session that was asked about hears it with its next prompt."""
    async with grove(tmp_path, database=database_url) as trees:
        asker, other = await trees.root(), await trees.root()
        await trees.say(other, "one heron")
        branches = trees.server.services.branches
        made = await branches.side_question(session_caller(asker), other, Branch(prompt="[[say grey]]"))
        [got] = await trees.rested(asker, 1)
        assert (got["source"], got["sourceSessionId"]) == ("callback", made.session_id)
        assert "> [[say grey]]" in got["prompt"] and "> grey" in got["prompt"]
        [report] = await trees.callbacks(asker)
        assert (report.state, report.child_task_id) == ("delivered", made.task_id)
        assert (await trees.say(other, "[[recall]]")).count("> grey") == 1
        # About itself, it is told with its next prompt and not twice.
        again = await branches.side_question(session_caller(asker), asker, Branch(prompt="[[say white]]"))
        await trees.client.wait_task(again.task_id or "")
        assert len(await trees.tasks(asker)) == 1
        assert (await trees.say(asker, "[[recall]]")).count("> white") == 1


async def test_an_asker_that_is_gone_does_not_keep_the_answer(tmp_path: Path) -> None:
    """B4: who asked was purged; the question ends as any other."""
    async with grove(tmp_path) as trees:
        asker, other = await trees.root(), await trees.root()
        branches = trees.server.services.branches
        made = await branches.side_question(session_caller(asker), other, Branch(prompt="[[slow 2 0.5]] [[say grey]]"))
        await trees.client.call("DELETE", f"/api/sessions/{asker}?purge=true")
        assert "grey" in await answer(trees.client, made.task_id or "")
        assert len(await told(trees, other)) == 1


async def test_one_about_a_session_that_never_ran(tmp_path: Path) -> None:
    """B4: there is nothing to know, and it is answered; the session begins with what was said aside."""
    async with grove(tmp_path) as trees:
        parent = await trees.root()
        _, task = await trees.btw(parent, "[[recall]] [[say grey]]")
        assert "grey" in await answer(trees.client, task)
        assert (await trees.get(parent))["activity"] == "not_started"
        assert (await trees.say(parent, "[[recall]]")).count("somebody asked") == 1


async def test_the_idle_clock_is_not_confused(tmp_path: Path) -> None:
    """T4: the session does not time out under its question, and does after it; the question itself never does."""
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


async def test_it_does_not_leave_its_mode(tmp_path: Path) -> None:
    """B4: an agent that wants out of mode plan is denied without asking; that of any other session asks."""
    async with grove(tmp_path) as trees:
        parent = await trees.root(permissionMode="plan")
        aside, task = await trees.btw(parent, "[[say x]]")
        await answer(trees.client, task)
        store = trees.server.services.store
        effects: list[str] = []
        for item in (aside, parent):
            session = await store.read(lambda tx, item=item: records.session(tx, item))
            use = ToolUse(agent="demo", cwd=session.cwd, kind="switch_mode")
            verdict = await store.read(lambda tx, session=session, use=use: for_session.judge(tx, session, use))
            effects.append(verdict.effect)
        assert effects == ["deny", "ask"]


@pytest.mark.parametrize("agent", ["native", "told"])
async def test_a_fork_of_one_knows_what_it_knew(tmp_path: Path, agent: str) -> None:
    """B1, B4: the conversation up to the question, and its answer; nothing that was said elsewhere since."""
    add_demo(tmp_path, agent, KINDS[agent])
    async with grove(tmp_path) as trees:
        parent = await trees.root(agent=agent)
        await trees.say(parent, "one heron")
        aside, task = await trees.btw(parent, "two ibises")
        await answer(trees.client, task)
        await trees.say(parent, "three storks")
        fork, task = await trees.fork(aside, "[[recall]]")
        said = await answer(trees.client, task)
        assert "one heron" in said and "two ibises" in said and "storks" not in said
        assert (await trees.get(fork))["permissionMode"] == "plan"
