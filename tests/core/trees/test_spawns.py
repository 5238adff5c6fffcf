"""Tests spawned children (B3, B5): they start with no context and inherited settings, have no more rights than their
parent, and trees are limited."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bough.core.store.sql import SESSIONS
from bough.core.trees.requests import NewBranch
from bough.errors import Denied
from bough.model.session import PermissionMode
from tests.core.trees.tree_helpers import KINDS, Grove, add_demo, answer, grove, session_caller
from tests.support.client import Json


async def env_of(trees: Grove, session: str) -> str:
    return await trees.server.services.store.read(lambda tx: tx.value(SESSIONS.env, id=session)) or ""


async def test_a_child_inherits_settings_but_no_context(tmp_path: Path) -> None:
    """B3: Inherits agent, mode, model, effort, MCP servers, env (with its hidden values), context files and folder, but
    no conversation."""
    async with grove(tmp_path) as trees:
        server_fields = {"name": "tools", "transport": "stdio", "command": "/bin/true"}
        server = await trees.client.post("/api/mcp-servers", server_fields)
        (trees.server.root / "repo" / "notes.md").write_text("notes")
        parent = await trees.root(
            permissionMode="auto",
            model="demo-large",
            effort="high",
            env={"HERON": "grey"},
            contextFiles=["notes.md"],
            mcpServerIds=[server["id"]],
        )
        child, task = await trees.spawn(parent, "[[recall]] [[run echo $HERON]] [[status]]", title="Child")
        recalled = await answer(trees.client, task)
        parent_row, child_row = await trees.get(parent), await trees.get(child)
        for name in ("agent", "permissionMode", "model", "effort", "env", "contextFiles", "mcpServerIds", "cwd"):
            assert child_row[name] == parent_row[name], name
        assert (child_row["kind"], child_row["parentSessionId"], child_row["depth"]) == ("subsession", parent, 1)
        assert (child_row["title"], child_row["rootSessionId"]) == ("Child", parent)
        assert child_row["env"] == {"HERON": "***"}
        assert "grey" in await env_of(trees, child)
        assert "demo-large" in recalled and "high" in recalled
        [run] = [item for item in await trees.contents(child, "tool") if "echo" in str(item)]
        assert "grey" in str(run["result"])


async def test_inherited_settings_can_be_overridden(tmp_path: Path) -> None:
    """B3: Every setting can be overridden; another agent inherits neither model nor effort."""
    add_demo(tmp_path, "other", ["fork"])
    async with grove(tmp_path) as trees:
        parent = await trees.root(permissionMode="auto", model="demo-large", effort="high", env={"HERON": "grey"})
        overrides: Json = {
            "permissionMode": "plan",
            "model": "demo-small",
            "effort": "low",
            "env": {"IBIS": "white"},
            "description": "about birds",
            "headless": "deny",
            "callback": {"enabled": False},
            "mcpServerIds": [],
        }
        child, _ = await trees.spawn(parent, "[[say x]]", **overrides)
        created = await trees.get(child)
        assert {name: created[name] for name in overrides if name not in ("env", "callback")} == {
            name: value for name, value in overrides.items() if name not in ("env", "callback")
        }
        assert created["env"] == {"IBIS": "***"} and created["callback"]["enabled"] is False
        assert "grey" not in await env_of(trees, child)
        elsewhere = await trees.get((await trees.spawn(parent, "[[say x]]", agent="other"))[0])
        assert (elsewhere["agent"], elsewhere["model"], elsewhere["effort"]) == ("other", None, None)
        chosen = await trees.get((await trees.spawn(parent, "[[say x]]", agent="other", model="demo-small"))[0])
        assert (chosen["model"], chosen["effort"]) == ("demo-small", None)


async def test_rights_do_not_rise(tmp_path: Path) -> None:
    """5e: No session creates one with more rights than its own or the parent's; a person may, and is warned."""
    async with grove(tmp_path) as trees:
        parent = await trees.root(permissionMode="acceptEdits")
        for mode in ("auto", "on-failure", "bypassPermissions", "allow-all"):
            made = await trees.client.post(f"/api/sessions/{parent}/spawn", {"prompt": "x", "permissionMode": mode})
            assert (await trees.get(made["sessionId"]))["permissionMode"] == mode
            assert made["warnings"] == [f"Mode {mode} grants more than acceptEdits, the mode of session {parent}."]
        modest = await trees.client.post(f"/api/sessions/{parent}/spawn", {"prompt": "x", "permissionMode": "default"})
        child = modest["sessionId"]
        assert "warnings" not in modest
        strong, _ = await trees.fork(parent, permissionMode="bypassPermissions")
        assert (await trees.get(strong))["permissionMode"] == "bypassPermissions"
        branches = trees.server.services.branches
        above: list[tuple[str, Any, PermissionMode | None]] = [
            (parent, branches.fork, "auto"),
            (parent, branches.spawn, "auto"),
            (strong, branches.fork, None),
            (strong, branches.spawn, "auto"),
            (parent, branches.fork, None),
        ]
        for source, kind, mode in above:
            with pytest.raises(Denied, match="grants more than"):
                await kind(session_caller(child), source, NewBranch(prompt="x", permission_mode=mode))
        created = await branches.fork(
            session_caller(child), parent, NewBranch(prompt="[[say x]]", permission_mode="plan")
        )
        assert (await trees.get(created.session_id))["createdBy"] == {"kind": "session", "id": child}
        [task] = await trees.rested(created.session_id, 1)
        assert (task["source"], task["sourceSessionId"]) == ("session", child)


async def test_trees_are_limited(tmp_path: Path) -> None:
    """B5: Refuses to exceed depth, active children and size with a sentence that names the setting; side questions are
    never refused."""
    async with grove(tmp_path, max_depth=2, max_children=2, max_tree=5) as trees:
        root = await trees.root()
        quiet = {"callback": {"enabled": False}}
        first, _ = await trees.spawn(root, "[[say x]]", **quiet)
        second, _ = await trees.spawn(first, "[[say x]]", **quiet)
        deep = await trees.refused(f"{second}/spawn", {"prompt": "x"})
        assert deep["code"] == "tree_too_deep" and "BOUGH_MAX_DEPTH" in deep["message"]
        # A fork of the deepest session is no deeper.
        await trees.fork(second)
        await trees.spawn(root, "[[say x]]", **quiet)
        many = await trees.refused(f"{root}/spawn", {"prompt": "x"})
        assert many["code"] == "too_many_children" and "BOUGH_MAX_CHILDREN" in many["message"]
        large = await trees.refused(f"{first}/fork", {"prompt": "x"})
        assert large["code"] == "tree_too_large" and "BOUGH_MAX_TREE" in large["message"]
        aside, task = await trees.btw(root, "[[say aside]]")
        assert await answer(trees.client, task) == "aside"
        # An ended session makes room.
        await trees.rested(first, 1)
        await trees.client.post(f"/api/sessions/{first}/archive")
        await trees.spawn(root, "[[say x]]", **quiet)
        assert (await trees.get(aside))["archived"] is True


@pytest.mark.parametrize(("count", "agents"), [(20, 20), (8, 5), (8, 1)])
async def test_simultaneous_spawns_report_once_each(tmp_path: Path, database_url: str, count: int, agents: int) -> None:
    """B3, Q3, T5: As many spawns over REST at the same moment give as many children and reports, even with few
    slots."""
    async with grove(tmp_path, max_agents=agents, database=database_url) as trees:
        parent = await trees.root()
        spawned = await asyncio.gather(*(trees.spawn(parent, f"[[say done {n}]]") for n in range(count)))
        assert len({session for session, _ in spawned}) == count
        tasks = await trees.rested(parent, count)
        assert [item["status"] for item in tasks] == ["completed"] * count
        assert {item["sourceSessionId"] for item in tasks} == {session for session, _ in spawned}
        reports = await trees.callbacks(parent)
        assert sorted(report.child_task_id for report in reports) == sorted(task for _, task in spawned)
        assert {report.state for report in reports} == {"delivered"}
        positions = [item["position"] for item in tasks]
        assert positions == list(range(1, count + 1))
        page: Any = await trees.client.get("/api/sessions?limit=100")
        assert page["total"] == count + 1


async def test_children_of_children_report_up_the_chain(tmp_path: Path) -> None:
    """B3, Q3: Each end in three levels is reported to the level above and no further."""
    async with grove(tmp_path, max_agents=1) as trees:
        root = await trees.root()
        middle, _ = await trees.spawn(root, "[[say middle]]")
        await trees.rested(root, 1)
        lowest, _ = await trees.spawn(middle, "[[say lowest]]")
        # The turn that a report causes is itself reported to the level above.
        [_, above] = await trees.rested(root, 2)
        [_, report] = await trees.tasks(middle)
        assert (report["source"], report["sourceSessionId"]) == ("callback", lowest)
        assert (above["source"], above["sourceSessionId"]) == ("callback", middle)
        assert "> lowest" in report["prompt"] and report["id"] in above["prompt"]
        assert [callback.parent_session_id for callback in await trees.callbacks(lowest)] == [middle]


async def test_agents_that_cannot_resume_do_not_starve_their_tree(tmp_path: Path) -> None:
    """T4, T5: An idle agent keeps its slot from other trees but not from its own children, for which the idle timeout
    would stand still; when it wakes, it gets the transcript."""
    add_demo(tmp_path, "forgetful", KINDS["forgetful"])
    async with grove(tmp_path, max_agents=1) as trees:
        root = await trees.root(agent="forgetful")
        await trees.say(root, "one heron")
        stranger = await trees.client.prompt(await trees.root(), "[[say x]]")
        await trees.server.services.scheduler.start_turns()
        assert (await trees.client.get(f"/api/tasks/{stranger}"))["status"] == "queued"
        await trees.spawn(root, "[[say done]]")
        [_, report] = await trees.rested(root, 2)
        assert report["status"] == "completed"
        recalled = await trees.say(root, "[[recall]]")
        assert "one heron" in recalled and "> done" in recalled


async def test_children_finish_while_their_parent_works(tmp_path: Path) -> None:
    """T5: Eight children and a busy parent share two slots; nobody starves, and the reports wait for the parent."""
    async with grove(tmp_path, max_agents=2) as trees:
        parent = await trees.root()
        running = await trees.client.prompt(parent, "[[hang]]")
        await trees.client.wait_task(running, "running")
        spawned = [await trees.spawn(parent, f"[[say done {n}]]") for n in range(8)]
        for _, task in spawned:
            assert (await trees.client.wait_task(task))["status"] == "completed"
        waiting = [item["status"] for item in await trees.tasks(parent)]
        assert waiting == ["running", *["queued"] * 8]
        await trees.client.post(f"/api/sessions/{parent}/stop")
        await trees.client.post(f"/api/sessions/{parent}/resume")
        ended = await trees.rested(parent, 9)
        assert [item["status"] for item in ended] == ["cancelled", *["completed"] * 8]
