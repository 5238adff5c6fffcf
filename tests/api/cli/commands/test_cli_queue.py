"""Tests `bough repo`, `bough task` and `bough approval`."""

from __future__ import annotations

import json
from typing import Any

from tests.api.cli.cli_program import Cli
from tests.support.server import Running


async def test_repositories(server: Running, cli: Cli) -> None:
    """O5: Repositories can be added, listed, shown, renamed and removed."""
    folder = server.repo("shop")
    added = json.loads((await cli("repo", "add", str(folder), "--name", "Shop", "--json")).out)
    assert (added["name"], added["path"]) == ("Shop", str(folder))
    listed = (await cli("repo", "list")).out.splitlines()
    short = listed[1].split()[0]
    assert listed[0].split() == ["ID", "NAME", "KIND", "BRANCH", "PATH"] and added["id"].endswith(short)
    assert "is now called Store" in (await cli("repo", "rename", short, "Store")).out
    assert "Store" in (await cli("repo", "show", short)).out
    assert (await cli("repo", "rm", short)).code == 0
    assert "bough repo add" in (await cli("repo", "list")).out
    assert folder.is_dir()


async def test_a_failed_task_is_retried(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """T3, O5: `task retry` sends the prompt of a failed task again, and explains why it cannot retry another."""
    task = await server.client.ask(session["id"], "[[fail not now]]")
    again = json.loads((await cli("task", "retry", task["id"], "--json")).out)
    assert (again["prompt"], again["id"] != task["id"]) == ("[[fail not now]]", True)
    await server.client.wait_task(again["id"])
    done = await server.client.ask(session["id"], "fine")
    refused = await cli("task", "retry", done["id"])
    assert refused.code != 0 and "only a failed or cancelled task" in refused.err


async def test_queue_is_edited_moved_and_cancelled(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """Q5: Queued tasks can be listed, edited, reordered and cancelled."""
    client = server.client
    running = await client.prompt(session["id"], "[[hang]]")
    await client.wait_task(running, "running")
    first, second, third = [await client.prompt(session["id"], text) for text in ("one", "two", "three")]

    async def queue() -> list[str]:
        page = json.loads((await cli("task", "list", "--session", session["id"], "--status", "queued", "--json")).out)
        return [task["prompt"] for task in page["tasks"]]

    assert await queue() == ["one", "two", "three"]
    assert (await cli("task", "edit", second, "zwei")).code == 0
    assert (await cli("task", "move", third, "--before", first)).code == 0
    assert await queue() == ["three", "one", "zwei"]
    assert (await cli("task", "move", third, "--last")).code == 0
    assert await queue() == ["one", "zwei", "three"]
    assert "is cancelled" in (await cli("task", "cancel", first)).out
    assert await queue() == ["zwei", "three"]
    for words in (("--session", session["id"]), ("first",)):
        listed = await cli("task", "list", *words)
        assert "zwei" in listed.out and "running" in listed.out, words
    twice = await cli("task", "list", "first", "--session", "first")
    assert twice.code == 2 and "SESSION or --session" in twice.err
    assert "zwei" in (await cli("task", "show", second)).out
    for wrong in (("task", "move", second), ("task", "move", second, "--last", "--before", third)):
        assert (await cli(*wrong)).code == 2
    gone = await cli("task", "edit", first, "again")
    assert gone.code == 1 and "(task_not_queued)" in gone.err


async def test_the_queue_is_paused_and_resumed(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """Q5: `task pause` holds a session's queue behind the running turn, and `task resume` releases it."""
    running = await server.client.prompt(session["id"], "[[run echo x]]")
    asked = await server.client.approval(session["id"])
    waiting = await server.client.prompt(session["id"], "[[say later]]")
    paused = await cli("task", "pause", session["id"])
    assert paused.out == f"The queue of session {session['id'][-8:]} is paused.\n"
    assert (await cli("approval", "allow", asked["id"])).code == 0
    assert (await server.client.wait_task(running))["status"] == "completed"
    assert (await server.client.get(f"/api/tasks/{waiting}"))["status"] == "queued"
    resumed = json.loads((await cli("task", "resume", session["id"], "--json")).out)
    assert resumed["queuePaused"] is False
    assert (await server.client.wait_task(waiting))["status"] == "completed"


async def test_approvals_are_listed_and_decided(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """P4: Approvals can be listed and answered (allow, always, deny), but not answered twice."""
    client = server.client
    assert "No pending approvals" in (await cli("approval", "list")).out
    task = await client.prompt(session["id"], "[[run echo a]] [[run echo b]] [[run echo a]]")
    asked = await client.approval(session["id"])
    listed = await cli("approval", "list")
    short = listed.out.splitlines()[1].split()[0]
    assert asked["id"].endswith(short) and "echo a" in listed.out
    assert (await cli("approval", "show", short)).out.endswith("\n$ echo a\n")
    assert "from now on" in (await cli("approval", "allow", short, "--always")).out
    again = await cli("approval", "deny", short)
    assert again.code == 1 and "(approval_decided)" in again.err
    second = await client.approval(session["id"])
    denied = json.loads((await cli("approval", "deny", second["id"], "--json")).out)
    assert denied["status"] == "denied"
    # The third call repeats the first one, which is always allowed by now.
    await client.wait_task(task)
    everything = json.loads((await cli("approval", "list", "--all", "--json")).out)
    assert [approval["status"] for approval in everything["approvals"]] == ["allowed", "denied"]
