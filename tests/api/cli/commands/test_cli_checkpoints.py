"""Tests `bough task diff|restore`, `bough session diff` and `bough checkpoint`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.cli.cli_program import Cli
from tests.support.server import Running


@pytest.fixture
async def task(server: Running) -> dict[str, Any]:
    """A task that has changed two files."""
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"], permissionMode="bypassPermissions")
    return await server.client.ask(session["id"], "[[write a.txt one]] [[run rm README.md]]")


async def test_diffs_are_shown(server: Running, cli: Cli, task: dict[str, Any]) -> None:
    """W4, O5: Shows the changes of a task or a session as text, as statistics, for one file, and as JSON."""
    whole = (await cli("task", "diff", task["id"])).out
    assert "+++ b/a.txt" in whole and "-# A repository" in whole
    stat = (await cli("task", "diff", task["id"], "--stat")).out.splitlines()
    assert stat == ["D  README.md  +0 -1", "A  a.txt  +1 -0"]
    diff = (await cli("session", "diff", task["sessionId"], "--path", "a.txt")).out
    assert "+one" in diff and "README" not in diff
    report = json.loads((await cli("session", "diff", task["sessionId"], "--json")).out)
    assert [file["path"] for file in report["files"]] == ["README.md", "a.txt"]
    other = await server.client.ask(task["sessionId"], "[[say nothing]]")
    assert (await cli("task", "diff", other["id"])).out == "No changes.\n"
    wrong = await cli("task", "diff", task["id"], "--path", "../x")
    assert wrong.code == 1 and "(bad_path)" in wrong.err


async def test_files_are_restored_and_the_restore_is_undone(server: Running, cli: Cli, task: dict[str, Any]) -> None:
    """W4, O5: A restore says what it did and how to undo it; checkpoints can be listed and deleted."""
    folder = Path(server.root / "repo")
    done = await cli("task", "restore", task["id"])
    *lines, undo = done.out.splitlines()
    assert lines == ["written  README.md", "removed  a.txt"] and not (folder / "a.txt").exists()
    command = undo.removeprefix("To undo this: bough ").split()
    assert (await cli(*command, "--path", "a.txt")).code == 0
    assert (folder / "a.txt").read_text() == "one" and (folder / "README.md").exists()
    again = await cli("task", "restore", task["id"], "--moment", "after", "--path", "a.txt")
    assert again.code == 0 and "No file had to change." in again.err
    listed = (await cli("checkpoint", "list", "--task", task["id"])).out.splitlines()
    assert listed[0].split() == ["ID", "TASK", "MOMENT", "COMMIT", "CREATED", "FOLDER"]
    assert [line.split()[2] for line in listed[1:]] == ["restore", "restore", "after", "before"]
    page = json.loads((await cli("checkpoint", "list", "--session", task["sessionId"], "--limit", "1", "--json")).out)
    assert (len(page["checkpoints"]), page["total"]) == (1, 4)
    assert (await cli("checkpoint", "prune")).out == "0 checkpoints deleted.\n"
    assert (await cli("checkpoint", "prune", "--days", "0")).out == "4 checkpoints deleted.\n"
    assert (await cli("checkpoint", "list")).out == "No checkpoints.\n"
    gone = await cli("task", "restore", task["id"])
    assert gone.code == 1 and "(no_checkpoint)" in gone.err


async def test_other_sessions_in_the_folder_are_named(server: Running, cli: Cli, task: dict[str, Any]) -> None:
    """W4: A diff mentions other sessions that work in the folder, and a restore is refused unless forced."""
    session = await server.client.get(f"/api/sessions/{task['sessionId']}")
    other = await server.client.session(session["repo"]["id"])
    hanging = await server.client.prompt(other["id"], "[[hang]]")
    await server.client.wait_task(hanging, "running")
    beside = await server.client.ask(task["sessionId"], "[[write b.txt two]]")
    assert "working there at the same time" in (await cli("task", "diff", beside["id"])).err
    refused = await cli("task", "restore", task["id"])
    assert refused.code == 1 and hanging[-8:] in refused.err and "(folder_busy)" in refused.err
    assert (await cli("task", "restore", task["id"], "--force")).code == 0
    await server.client.post(f"/api/sessions/{other['id']}/stop")
