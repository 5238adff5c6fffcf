"""A command runs, needs permission or is refused, depending on the mode and the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.agents.terminal.modes import MODES
from tests.agents.terminal.terminals import Json, Terminal

UNASKED = {"bypassPermissions", "allow-all"}


@pytest.mark.parametrize("mode", MODES)
async def test_each_mode(terminal: Terminal, cwd: Path, mode: str) -> None:
    """P1: plan runs nothing, two modes run commands unasked, and all others ask before every command."""
    session = await terminal.open(cwd, mode)
    await terminal.run(session, "touch made")
    tool = await terminal.run(session, "touch made")
    assert (cwd / "made").exists() == (mode != "plan")
    assert len(terminal.permissions) == (0 if mode in UNASKED | {"plan"} else 2)
    assert tool["status"] == ("failed" if mode == "plan" else "completed")
    assert ("mode plan" in terminal.said(session)) == (mode == "plan")


async def test_the_eight_modes_are_offered(terminal: Terminal, cwd: Path) -> None:
    """P1: Offers the eight modes under their own names; a session starts in `default`, which asks."""
    answer = await terminal.request("session/new", {"cwd": str(cwd), "mcpServers": []})
    offered = [mode["id"] for mode in answer["modes"]["availableModes"]]
    assert sorted(offered) == sorted(
        ["default", "acceptEdits", "bypassPermissions", "plan", "ask", "auto", "on-failure", "allow-all"]
    )
    assert answer["modes"]["currentModeId"] == "default"


async def test_a_request_shows_the_command(terminal: Terminal, cwd: Path) -> None:
    """P3: The permission request has the whole command and its folder; nothing runs before the answer."""
    session = await terminal.open(cwd, "ask")
    terminal.decide = lambda _: None
    turn = terminal.send_prompt(session, "touch made")
    await terminal.until(lambda: bool(terminal.permissions))
    asked: Json = terminal.permissions[0]["params"]
    assert asked["toolCall"]["rawInput"] == {"command": "touch made", "cwd": str(cwd)}
    assert asked["toolCall"]["kind"] == "execute"
    assert [option["kind"] for option in asked["options"]] == ["allow_once", "allow_always", "reject_once"]
    assert not (cwd / "made").exists()
    terminal.respond(terminal.permissions[0], "allow_once")
    assert await terminal.answer(turn) == {"stopReason": "end_turn"}
    assert (cwd / "made").exists()


async def test_a_rejection(terminal: Terminal, cwd: Path) -> None:
    """P3: A rejected command does not run, its call has failed, and the session continues."""
    session = await terminal.open(cwd, "ask")
    terminal.decide = lambda _: "reject_once"
    tool = await terminal.run(session, "touch made")
    assert tool["status"] == "failed"
    assert terminal.said(session) == "Rejected: it was not run."
    assert not (cwd / "made").exists()


@pytest.mark.parametrize("how", ["answer", "notification"])
async def test_a_cancelled_request_ends_the_turn(terminal: Terminal, cwd: Path, how: str) -> None:
    """C1: The outcome `cancelled`, or a cancel while the request is open, ends the turn, and nothing runs."""
    session = await terminal.open(cwd, "ask")
    terminal.decide = lambda _: "cancelled" if how == "answer" else None
    turn = terminal.send_prompt(session, "touch made")
    if how == "notification":
        await terminal.until(lambda: bool(terminal.permissions))
        terminal.notify("session/cancel", {"sessionId": session})
    assert await terminal.answer(turn) == {"stopReason": "cancelled"}
    assert terminal.tools(session)[0]["status"] == "failed"
    assert not (cwd / "made").exists()


async def test_always_covers_that_command_in_that_folder(terminal: Terminal, cwd: Path) -> None:
    """P3: *Always* covers exactly the same command in the same folder; plan still refuses it."""
    session = await terminal.open(cwd, "ask")
    terminal.decide = lambda _: "allow_always"
    for command, questions in (("true", 1), ("true", 1), ("true ", 2), ("cd /", 3), ("true", 4), ("true", 4)):
        await terminal.run(session, command)
        assert len(terminal.permissions) == questions
    await terminal.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
    assert (await terminal.run(session, "true"))["status"] == "failed"
