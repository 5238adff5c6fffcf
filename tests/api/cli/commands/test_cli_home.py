"""Tests `bough home`, `bough tour`, `bough session seen` and `bough worktree losses`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.api.cli.cli_program import Cli
from tests.support.server import Running


async def test_home_and_seen(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O5: Lists what needs a person and what is running; a session that was seen is no longer unread."""
    client = server.client
    empty = await cli("home")
    assert (empty.code, "Nothing needs your attention, and nothing is running." in empty.out) == (0, True)
    await client.ask(session["id"], "[[say one]]")
    asks = await client.session(
        session["repoId"], permissionMode="default", initialPrompt="[[run ls -l]]", title="asks"
    )
    approval = await client.approval(asks["id"])
    bad = await client.session(session["repoId"], initialPrompt="[[fail no]]", title="bad one")
    await client.wait_task(bad["taskId"])
    shown = (await cli("home")).out
    for words in ("Approvals (1)", approval["id"][-8:], "ls -l", "Failed (1)", "bad one", "Unread (1)", "first"):
        assert words in shown
    assert "Today: 2 turns" in shown
    home = json.loads((await cli("home", "--json")).out)
    assert home == await client.get("/api/home")
    result = await cli("session", "seen", session["id"][-8:])
    assert (result.code, result.out.strip()) == (0, f"Session {session['id'][-8:]} is marked as read.")
    again = json.loads((await cli("session", "seen", session["id"], "--json")).out)
    assert again["seenAt"] is not None
    assert "Unread" not in (await cli("home")).out


async def test_losses(server: Running, cli: Cli) -> None:
    """O5, W2: Lists what removing a worktree would lose."""
    repo = await server.client.repo(server.repo())
    tree = await server.client.post("/api/worktrees", {"repoId": repo["id"], "branch": "x"})
    assert "Nothing would be lost." in (await cli("worktree", "losses", tree["path"])).out
    (Path(tree["path"]) / "new.txt").write_text("new")
    shown = await cli("worktree", "losses", tree["id"][-8:])
    assert "untracked    new.txt" in shown.out
    assert "1 uncommitted or untracked file (new.txt)" in shown.out
    losses = json.loads((await cli("worktree", "losses", tree["id"], "--json")).out)
    assert losses == await server.client.get(f"/api/worktrees/{tree['id']}/losses")


async def test_tour(server: Running, cli: Cli) -> None:
    """O1, O5: The tour can be created, shown and removed."""
    path = str(server.root / "bough-tour")
    assert path in (await cli("tour")).out
    assert json.loads((await cli("tour", "--json")).out)["path"] == path
    assert f"{path} and its 0 sessions are deleted." in (await cli("tour", "--remove")).out
    assert "There is no tour repo." in (await cli("tour", "--remove")).out
