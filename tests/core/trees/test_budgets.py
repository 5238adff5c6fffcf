"""Tests the budget of a tree and the limit on turns that agents cause among themselves (B5): at either, the tree pauses
and asks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bough.core.approvals.kinds import LIMIT
from bough.core.live_agents.start import repository_trust
from bough.core.state.limits import budgets
from bough.core.state.limits.budgets import BudgetBody
from bough.core.store import records
from bough.core.store.transactions import Change
from bough.errors import Denied, Invalid
from bough.model.message import raw
from bough.model.session import Caller
from bough.model.values.times import before
from bough.storage.queries import Query
from tests.core.trees.tree_helpers import Grove, grove, session_caller
from tests.support.client import Json

# In minutes; a turn of a twentieth of a second takes longer.
MOMENT = 0.0001 / 60


async def limited(trees: Grove, session: str) -> Json:
    """Returns the approval that asks whether the tree may continue."""
    question = await trees.client.approval(session)
    assert question["toolKind"] == "limit"
    return question


async def decide(trees: Grove, question: Json, decision: str) -> None:
    await trees.client.post(f"/api/approvals/{question['id']}", {"decision": decision})


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (BudgetBody(max_tokens=5), "5 tokens"),
        (BudgetBody(max_cost=0.000001), "1e-06 cost"),
        (BudgetBody(max_turns=1), "1 turns"),
        (BudgetBody(max_minutes=MOMENT), "minutes"),
    ],
)
async def test_each_kind_of_budget_pauses_the_tree(tmp_path: Path, body: BudgetBody, named: str) -> None:
    """B5: Holds the next turn and asks; if allowed, the tree gets the same budget again; if denied, the turn is
    dropped."""
    async with grove(tmp_path) as trees:
        client, service = trees.client, trees.server.services.budgets
        root = await trees.root()
        await trees.say(root, "before it counts")
        await service.set(Caller(), root, body)
        await trees.say(root, "[[say " + "word " * 20 + "]]")
        _, used = await service.get(root)
        assert used.turns == 2 and used.tokens > 20 and used.cost > 0 and used.seconds > 0
        child, task = await branch_quietly(trees, root)
        question = await limited(trees, child)
        assert named in question["title"] and "Continue?" in question["title"]
        waiting = await client.get(f"/api/tasks/{task}")
        assert (waiting["status"], waiting["held"], waiting["startedAt"]) == ("interrupted", True, None)
        assert (await trees.get(child))["activity"] == "waiting_permission"
        await decide(trees, question, "allow")
        ended = await client.wait_task(task)
        assert (ended["status"], ended["sentAttempt"]) == ("completed", 2)
        held = await client.prompt(root, "[[say never]]")
        await decide(trees, await limited(trees, root), "deny")
        dropped = await client.wait_task(held)
        assert (dropped["status"], dropped["stopReason"]) == ("cancelled", "denied")
        assert "never" not in await client.texts(root)


async def test_minutes_count_only_work(tmp_path: Path, database_url: str) -> None:
    """B5: Time in which a turn waits for people does not count, and overlapping waits are subtracted once."""
    ago = Query("ago", "UPDATE approvals SET created_at = :at WHERE id = :id", "Makes a question older.")
    began = Query("began", "UPDATE tasks SET started_at = :at WHERE id = :id", "Makes a turn longer.")
    async with grove(tmp_path, database=database_url) as trees:
        store, service = trees.server.services.store, trees.server.services.budgets
        root = await trees.root(permissionMode="ask")
        task = await trees.client.prompt(root, "[[run echo one]] [[run echo two]]")
        # Two minutes of work, an hour of waiting, and a second question during that hour.
        for seconds in (3600, 3000):
            question = await trees.client.approval(root)
            at = before(seconds)
            await store.write(lambda change, at=at, id=question["id"]: change.tx.run(ago, at=at, id=id))
            await store.write(lambda change: change.tx.run(began, at=before(3720), id=task))
            await decide(trees, question, "allow")
        await trees.client.wait_task(task)
        _, used = await service.get(root)
        assert 119 < used.seconds < 180
        assert (await trees.get(root))["seconds"] == used.seconds


async def branch_quietly(trees: Grove, root: str) -> tuple[str, str]:
    return await trees.spawn(root, "[[recall]] [[say " + "word " * 20 + "]]", callback={"enabled": False})


async def test_running_turns_finish_and_one_answer_releases_the_whole_tree(tmp_path: Path, database_url: str) -> None:
    """B5: A used-up budget stops no running turn; one answer releases all three waiting sessions."""
    async with grove(tmp_path, database=database_url) as trees:
        client = trees.client
        root = await trees.root()
        running = await client.prompt(root, "[[slow 5 1]]")
        await client.wait_task(running, "running")
        await trees.server.services.budgets.set(Caller(), root, BudgetBody(max_tokens=40))
        child, task = await trees.spawn(root, "[[say " + "word " * 60 + "]]", callback={"enabled": False})
        assert (await client.wait_task(task))["status"] == "completed"
        assert (await client.wait_task(running))["status"] == "completed"
        waiting = [await client.prompt(child, "[[say x]]"), await client.prompt(root, "[[say x]]")]
        other, task = await trees.spawn(root, "[[say x]]", callback={"enabled": False})
        questions = [await limited(trees, item) for item in (child, root, other)]
        await decide(trees, questions[1], "allow")
        for item in (*waiting, task):
            assert (await client.wait_task(item))["status"] == "completed"
        decided = [(await client.get(f"/api/approvals/{question['id']}"))["status"] for question in questions]
        assert decided == ["allowed"] * 3


async def test_a_budget_belongs_to_one_tree(tmp_path: Path) -> None:
    """B5: Does not affect other trees; amounts must be positive; a new budget replaces the old one."""
    async with grove(tmp_path) as trees:
        service = trees.server.services.budgets
        root, other = await trees.root(), await trees.root()
        with pytest.raises(Invalid, match="max_turns"):
            await service.set(Caller(), root, BudgetBody(max_turns=0))
        child, _ = await branch_quietly(trees, root)
        await trees.rested(child, 1)
        # It can be set on any session of the tree.
        await service.set(Caller(), child, BudgetBody(max_turns=1))
        await trees.say(root, "[[say x]]")
        held = await trees.client.prompt(root, "[[say x]]")
        question = await limited(trees, root)
        await trees.say(other, "[[say x]]")
        # A prompt to the session releases the held turn, which is then asked about again.
        await trees.client.post(f"/api/sessions/{root}/resume")

        async def asked_again() -> bool:
            pending = (await trees.client.get("/api/approvals?status=pending"))["approvals"]
            return any(approval["id"] != question["id"] for approval in pending)

        await trees.client.eventually(asked_again)
        with pytest.raises(Denied, match="Only people"):
            await service.set(session_caller(root), root, BudgetBody())
        await service.set(Caller(), root, BudgetBody())
        assert (await trees.client.wait_task(held))["status"] == "completed"
        assert (await trees.client.get("/api/approvals?status=pending"))["total"] == 0


async def test_running_turns_count(tmp_path: Path, database_url: str) -> None:
    """B5: Running turns count as used; of two that start at the same moment, only one may."""
    async with grove(tmp_path, database=database_url) as trees:
        client = trees.client
        root = await trees.root()
        both = [(await trees.fork(root))[0] for _ in range(2)]
        await trees.server.services.budgets.set(Caller(), root, BudgetBody(max_turns=2))
        running = await client.prompt(root, "[[hang]]")
        await client.wait_task(running, "running")
        tasks = await asyncio.gather(*(client.prompt(item, "[[hang]]") for item in both))
        started = await asyncio.gather(*(client.wait_task(task, "running", "interrupted") for task in tasks))
        assert sorted(item["status"] for item in started) == ["interrupted", "running"]
        for item in (root, *both):
            await client.post(f"/api/sessions/{item}/stop")


async def test_purging_a_session_returns_no_budget(tmp_path: Path, database_url: str) -> None:
    """B5: What a purged session has used stays counted."""
    async with grove(tmp_path, database=database_url) as trees:
        service = trees.server.services.budgets
        root = await trees.root()
        await service.set(Caller(), root, BudgetBody(max_turns=1))
        child, _ = await branch_quietly(trees, root)
        await trees.rested(child, 1)
        before, used = await service.get(root)
        await trees.client.call("DELETE", f"/api/sessions/{child}?purge=true")
        after, used_after = await service.get(root)
        assert before is not None and after is not None
        assert used_after.tokens - after.base_tokens == used.tokens - before.base_tokens > 0
        assert used_after.cost - after.base_cost == pytest.approx(used.cost - before.base_cost)
        assert used_after.seconds - after.base_seconds == pytest.approx(used.seconds - before.base_seconds)
        await trees.client.prompt(root, "[[say x]]")
        assert "1 turns" in (await limited(trees, root))["title"]


@pytest.mark.parametrize("how", ["stop", "cancel"])
async def test_the_cost_of_a_dropped_turn_counts(tmp_path: Path, how: str) -> None:
    """B5: An interrupted turn costs what its agent reported until then, even if it is never tried again."""
    async with grove(tmp_path, on_interrupt="hold") as trees:
        client, store = trees.client, trees.server.services.store
        root = await trees.root()
        task = await client.prompt(root, "[[crash]]")
        await client.wait_task(task, "interrupted")
        cost = raw({"amount": 0.5, "currency": "USD"})
        await store.write(lambda change: records.update_session(change, root, cost=cost))
        if how == "stop":
            await client.post(f"/api/sessions/{root}/stop")
        else:
            await client.call("DELETE", f"/api/sessions/{root}")
        ended = await client.wait_task(task)
        assert (ended["status"], ended["cost"]["amount"]) == ("cancelled", 0.5)
        _, used = await trees.server.services.budgets.get(root)
        assert (used.cost, used.turns) == (0.5, 1)


async def test_a_held_turn_can_be_stopped(tmp_path: Path) -> None:
    """B5, T6: Stopping a held turn withdraws the question about it."""
    async with grove(tmp_path) as trees:
        root = await trees.root()
        await trees.server.services.budgets.set(Caller(), root, BudgetBody(max_turns=1))
        await trees.say(root, "[[say x]]")
        held = await trees.client.prompt(root, "[[say x]]")
        question = await limited(trees, root)
        await trees.client.post(f"/api/sessions/{root}/stop")
        assert (await trees.client.wait_task(held))["status"] == "cancelled"
        assert (await trees.client.get(f"/api/approvals/{question['id']}"))["status"] == "cancelled"


@pytest.mark.parametrize("check", ["limit", "trust"])
async def test_a_stop_wins_over_a_simultaneous_hold(tmp_path: Path, check: str) -> None:
    """B5, P3, T6: A turn that is stopped while its start is being checked ends; nobody is asked."""
    async with grove(tmp_path) as trees:
        services = trees.server.services
        root = await trees.root()
        await trees.client.call("PATCH", f"/api/sessions/{root}", json={"queuePaused": True})
        task_id = await trees.client.prompt(root, "[[say never]]")

        async def late(change: Change) -> None:
            task = await records.update_task(change, task_id, status="stopping", attempt=1)
            if check == "limit":
                await LIMIT.ask(change, task, budgets.BudgetExceeded("budget_used", "Over."), services.settings)
            else:
                files = [str(trees.server.root / "repo" / "hook.js")]
                untrusted = repository_trust.Untrusted(
                    services.catalog.get("demo"), files, str(trees.server.root), "key"
                )
                await repository_trust.ask(change, task, untrusted, services.settings)

        await services.store.write(late)
        assert (await trees.client.get(f"/api/tasks/{task_id}"))["status"] == "cancelled"
        assert (await trees.client.get("/api/approvals"))["total"] == 0
        assert (await trees.get(root))["activity"] == "idle"


async def test_a_limit_is_never_raised_by_a_timeout(tmp_path: Path) -> None:
    """B5, P4: A session that allows what nobody answers does not get a larger budget that way."""
    async with grove(tmp_path, approval_timeout=0.05 / 60) as trees:
        root = await trees.root(headless="wait")
        await trees.server.services.budgets.set(Caller(), root, BudgetBody(max_turns=1))
        await trees.say(root, "[[say x]]")
        held = await trees.client.prompt(root, "[[say x]]")
        question = await limited(trees, root)
        await trees.client.call("PATCH", f"/api/sessions/{root}", json={"headless": "allow"})
        assert (await trees.client.get(f"/api/approvals/{question['id']}"))["expiresAt"] is None
        other = await trees.client.prompt(root, "[[say y]]")
        # After a prompt it is asked again; this time nobody answers in time, which means no.
        assert (await trees.client.wait_task(held))["status"] == "cancelled"
        await trees.client.wait_task(other)
        assert await trees.client.texts(root) == ["x"]


async def test_two_sessions_that_prompt_each_other_are_held(tmp_path: Path, database_url: str) -> None:
    """B5: Holds second sessions that keep prompting each other after the limit; a person's prompt starts the count
    again."""
    async with grove(tmp_path, max_unattended=4, database=database_url) as trees:
        tasks = trees.server.services.tasks
        first = await trees.root()
        second, _ = await trees.fork(first)

        async def back_and_forth(count: int) -> list[str]:
            created: list[str] = []
            for n in range(count):
                here, there = (first, second) if n % 2 == 0 else (second, first)
                created.append((await tasks.prompt(session_caller(here), there, f"[[say {n}]]")).id)
                async with asyncio.timeout(20):
                    ended = await trees.client.wait_task(created[-1], "completed", "interrupted")
                if ended["status"] == "interrupted":
                    break
            return created

        await trees.say(first, "[[say begin]]")
        created = await back_and_forth(10)
        assert len(created) == 5
        question = await limited(trees, second)
        assert "4 turns" in question["title"]
        # Another session's prompt does not release it.
        behind = await tasks.prompt(session_caller(first), second, "[[say more]]")
        assert (await trees.client.get(f"/api/approvals/{question['id']}"))["status"] == "pending"
        await decide(trees, question, "allow")
        assert (await trees.client.wait_task(created[-1]))["status"] == "completed"
        assert (await trees.client.wait_task(behind.id))["status"] == "completed"
        # A person prompts any session of the tree.
        await trees.say(first, "[[say again]]")
        assert len(await back_and_forth(10)) == 5
        await trees.say(first, "[[say person]]")
        await decide(trees, await limited(trees, second), "deny")


async def test_reports_count_as_turns_that_agents_cause(tmp_path: Path) -> None:
    """B5: Reports of children to a parent that no person prompts count as unattended turns."""
    async with grove(tmp_path, max_unattended=2) as trees:
        root = await trees.root()
        child, _ = await trees.spawn(root, "[[say x]]")
        await trees.rested(root, 1)
        tasks = trees.server.services.tasks
        await tasks.prompt(session_caller(root), child, "[[say y]]")
        question = await limited(trees, root)
        await decide(trees, question, "deny")
        ended = await trees.rested(root, 2)
        assert [item["status"] for item in ended] == ["completed", "cancelled"]
        [_, report] = await trees.callbacks(root)
        assert report.state == "held"
