"""Tests `bough worktree terminal` with a simulated person at a real terminal."""

from __future__ import annotations

import fcntl
import json
import struct
import termios

import pytest

from tests.api.cli.cli_program import Cli
from tests.api.cli.cli_terminal import terminal
from tests.support.server import Running


@pytest.fixture(autouse=True)
def plain_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    monkeypatch.setenv("PS1", "$ ")
    monkeypatch.delenv("ENV", raising=False)


async def test_a_person_attaches_and_comes_back(server: Running, cli: Cli) -> None:
    """Y1, L4: Keys, output and sizes pass; Ctrl-] detaches, the shell continues, and its exit code is the command's."""
    await cli("worktree", "new", "feature", "--repo", str(server.repo()))
    words = ("worktree", "terminal", "@last", "--data", str(server.data))
    async with terminal(*words) as shown:
        await shown.until("Ctrl-] detaches")
        shown.type("name=kept; stty size; pwd\n")
        await shown.until("30 80")
        await shown.until("/.worktrees/feature")
        fcntl.ioctl(shown._handle, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))  # pyright: ignore[reportPrivateUsage]
        shown.type("while [ \"$(stty size)\" != '40 100' ]; do sleep 0.1; done; echo gr''own\n")
        await shown.until("grown")
        shown.type("\x1d")
        await shown.until("Detached")
        assert await shown.end() == 0
    listed = json.loads((await cli("worktree", "terminal", "@last", "--list", "--json")).out)["terminals"]
    assert len(listed) == 1
    async with terminal(*words) as shown:
        await shown.until("grown")
        shown.type("echo it is $name\n")
        await shown.until("it is kept")
        shown.type("exit 5\n")
        await shown.until("has ended")
        assert await shown.end() == 5
    assert "No terminal is open" in (await cli("worktree", "terminal", "@last", "--list")).err


async def test_without_a_terminal(server: Running, cli: Cli) -> None:
    """Y2, L4: A script opens, lists and ends terminals; attaching needs a terminal."""
    await cli("worktree", "new", "feature", "--repo", str(server.repo()))
    refused = await cli("worktree", "terminal", "@last")
    assert (refused.code, "This needs a terminal" in refused.err) == (1, True)
    assert (await cli("worktree", "terminal", "@last", "--json")).code == 2
    opened = json.loads((await cli("worktree", "terminal", "@last", "--detached", "--json")).out)
    assert opened["id"][-8:] in (await cli("worktree", "terminal", "@last", "--list")).out
    ended = await cli("worktree", "terminal", "@last", "--end", opened["id"][-8:])
    assert (ended.code, "ended" in ended.out) == (0, True)
    assert (await server.client.get("/api/terminals"))["terminals"] == []
