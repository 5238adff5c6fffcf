"""B3, B5: a child begins afresh with what it inherits, has no more rights than its parent, and trees are bounded."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bough.core.store.sql import SESSIONS
from bough.core.trees.branch import Branch
from bough.errors import Denied
from bough.model.session import PermissionMode
from tests.support.client import Json

from .kit import KINDS, Grove, add_demo, answer, grove, session_caller


async def env_of(trees: Grove, session: str) -> str:
    return await trees.server.services.store.read(lambda tx: tx.value(SESSIONS.env, id=session)) or ""


async def test_a_child_inherits_and_begins_afresh(tmp_path: Path) -> None:
    """B3: agent, mode, model, effort, MCP servers, env (values too, never shown), context files, folder; no past."""
    async with grove(tmp_path) as trees:
        given = {"name": "tools", "transport": "stdio", "command": "/bin/true"}
        server = await trees.client.post("/api/mcp-servers", given)
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
        said = await answer(trees.client, task)
        one, other = await trees.get(parent), await trees.get(child)
        for name in ("agent", "permissionMode", "model", "effort", "env", "contextFiles", "mcpServerIds", "cwd"):
            assert other[name] == one[name], name
        assert (other["kind"], other["parentSessionId"], other["depth"]) == ("subsession", parent, 1)
        assert (other["title"], other["rootSessionId"]) == ("Child", parent)
        assert other["env"] == {"HERON": "***"}
        assert "grey" in await env_of(trees, child)
        assert "demo-large" in said and "high" in said
        [run] = [item for item in await trees.contents(child, "tool") if "echo" in str(item)]
        assert "grey" in str(run["result"])


async def test_what_is_said_overrides(tmp_path: Path) -> None:
    """B3: every part of it; another agent takes neither model nor effort along."""
    add_demo(tmp_path, "other", ["fork"])
    async with grove(tmp_path) as trees:
        parent = await trees.root(permissionMode="auto", model="demo-large", effort="high", env={"HERON": "grey"})
        wanted: Json = {
            "permissionMode": "plan",
            "model": "demo-small",
            "effort": "low",
            "env": {"IBIS": "white"},
            "description": "about birds",
            "headless": "deny",
            "callback": {"enabled": False},
            "mcpServerIds": [],
        }
        child, _ = await trees.spawn(parent, "[[say x]]", **wanted)
        made = await trees.get(child)
        assert {name: made[name] for name in wanted if name not in ("env", "callback")} == {
            name: value for name, value in wanted.items() if name not in ("env", "callback")
        }
        assert made["env"] == {"IBIS": "***"} and made["callback"]["enabled"] is False
        assert "grey" not in await env_of(trees, child)
        elsewhere = await trees.get((await trees.spawn(parent, "[[say x]]", agent="other"))[0])
        assert (elsewhere["agent"], elsewhere["model"], elsewhere["effort"]) == ("other", None, None)
        chosen = await trees.get((await trees.spawn(parent, "[[say x]]", agent="other", model="demo-small"))[0])
        assert (chosen["model"], chosen["effort"]) == ("demo-small", None)


async def test_rights_do_not_rise(tmp_path: Path) -> None:
    """5e: no child above its parent, whoever asks; nothing that a session asks for above that session."""
    async with grove(tmp_path) as trees:
        parent = await trees.root(permissionMode="acceptEdits")
        for mode in ("auto", "on-failure", "bypassPermissions", "allow-all"):
            error = await trees.refused(f"{parent}/spawn", {"prompt": "x", "permissionMode": mode}, 403)
            assert error["code"] == "mode_above_parent" and "acceptEdits" in error["message"]
        child, _ = await trees.spawn(parent, "[[say x]]", permissionMode="default")
        # A person may give a fork more, since it is a sibling.
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
                await kind(session_caller(child), source, Branch(prompt="x", permission_mode=mode))
        made = await branches.fork(session_caller(child), parent, Branch(prompt="[[say x]]", permission_mode="plan"))
        assert (await trees.get(made.session_id))["createdBy"] == {"kind": "session", "id": child}
        [task] = await trees.rested(made.session_id, 1)
        assert (task["source"], task["sourceSessionId"]) == ("session", child)


async def test_trees_are_bounded(tmp_path: Path) -> None:
    """B5: depth, live children and size, each refused with a sentence that names the setting; btw never is."""
    async with grove(tmp_path, max_depth=2, max_children=2, max_tree=5) as trees:
        root = await trees.root()
        quiet = {"callback": {"enabled": False}}
        first, _ = await trees.spawn(root, "[[say x]]", **quiet)
        second, _ = await trees.spawn(first, "[[say x]]", **quiet)
        deep = await trees.refused(f"{second}/spawn", {"prompt": "x"})
        assert deep["code"] == "tree_too_deep" and "BOUGH_MAX_DEPTH" in deep["message"]
        # A fork of the deepest is no deeper.
        await trees.fork(second)
        await trees.spawn(root, "[[say x]]", **quiet)
        many = await trees.refused(f"{root}/spawn", {"prompt": "x"})
        assert many["code"] == "too_many_children" and "BOUGH_MAX_CHILDREN" in many["message"]
        large = await trees.refused(f"{first}/fork", {"prompt": "x"})
        assert large["code"] == "tree_too_large" and "BOUGH_MAX_TREE" in large["message"]
        aside, task = await trees.btw(root, "[[say aside]]")
        assert await answer(trees.client, task) == "aside"
        # Whoever has ended makes room.
        await trees.rested(first, 1)
        await trees.client.post(f"/api/sessions/{first}/archive")
        await trees.spawn(root, "[[say x]]", **quiet)
        assert (await trees.get(aside))["archived"] is True


@pytest.mark.parametrize(("count", "agents"), [(20, 20), (8, 5), (8, 1)])
async def test_spawned_at_once_each_reports_once(tmp_path: Path, database_url: str, count: int, agents: int) -> None:
    """B3, Q3, T5: so many spawns over REST at the same moment are so many children and reports, also in few places."""
    async with grove(tmp_path, max_agents=agents, database=database_url) as trees:
        parent = await trees.root()
        made = await asyncio.gather(*(trees.spawn(parent, f"[[say done {n}]]") for n in range(count)))
        assert len({session for session, _ in made}) == count
        tasks = await trees.rested(parent, count)
        assert [item["status"] for item in tasks] == ["completed"] * count
        assert {item["sourceSessionId"] for item in tasks} == {session for session, _ in made}
        reports = await trees.callbacks(parent)
        assert sorted(report.child_task_id for report in reports) == sorted(task for _, task in made)
        assert {report.state for report in reports} == {"delivered"}
        positions = [item["position"] for item in tasks]
        assert positions == list(range(1, count + 1))
        page: Any = await trees.client.get("/api/sessions?limit=100")
        assert page["total"] == count + 1


async def test_children_of_children_report_up_the_chain(tmp_path: Path) -> None:
    """B3, Q3: three levels; each end is told to the level above, and no further."""
    async with grove(tmp_path, max_agents=1) as trees:
        root = await trees.root()
        middle, _ = await trees.spawn(root, "[[say middle]]")
        await trees.rested(root, 1)
        lowest, _ = await trees.spawn(middle, "[[say lowest]]")
        # The end of the middle's turn about the report is an end of a task, and told in turn.
        [_, above] = await trees.rested(root, 2)
        [_, told] = await trees.tasks(middle)
        assert (told["source"], told["sourceSessionId"]) == ("callback", lowest)
        assert (above["source"], above["sourceSessionId"]) == ("callback", middle)
        assert "> lowest" in told["prompt"] and told["id"] in above["prompt"]
        assert [callback.parent_session_id for callback in await trees.callbacks(lowest)] == [middle]


async def test_agents_that_cannot_resume_do_not_starve_their_tree(tmp_path: Path) -> None:
    """T4, T5: an idle one keeps its place from strangers, but not from its own children, for which the idle clock would
    stand still; woken, it is told the past."""
    add_demo(tmp_path, "forgetful", KINDS["forgetful"])
    async with grove(tmp_path, max_agents=1) as trees:
        root = await trees.root(agent="forgetful")
        await trees.say(root, "one heron")
        stranger = await trees.client.prompt(await trees.root(), "[[say x]]")
        await trees.server.services.scheduler.look()
        assert (await trees.client.get(f"/api/tasks/{stranger}"))["status"] == "queued"
        await trees.spawn(root, "[[say done]]")
        [_, told] = await trees.rested(root, 2)
        assert told["status"] == "completed"
        said = await trees.say(root, "[[recall]]")
        assert "one heron" in said and "> done" in said


async def test_children_finish_while_their_parent_works(tmp_path: Path) -> None:
    """T5: eight children and a busy parent in two places; nobody starves, the reports wait for the parent."""
    async with grove(tmp_path, max_agents=2) as trees:
        parent = await trees.root()
        running = await trees.client.prompt(parent, "[[hang]]")
        await trees.client.wait_task(running, "running")
        made = [await trees.spawn(parent, f"[[say done {n}]]") for n in range(8)]
        for _, task in made:
            assert (await trees.client.wait_task(task))["status"] == "completed"
        waiting = [item["status"] for item in await trees.tasks(parent)]
        assert waiting == ["running", *["queued"] * 8]
        await trees.client.post(f"/api/sessions/{parent}/stop")
        await trees.client.post(f"/api/sessions/{parent}/resume")
        ended = await trees.rested(parent, 9)
        assert [item["status"] for item in ended] == ["cancelled", *["completed"] * 8]
