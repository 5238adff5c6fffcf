"""A terminal's shell: it runs on a real terminal, outlives its viewers, holds bounded output and leaves nothing."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bough.agents.keeper import process_tree
from bough.agents.keeper_client import keeper_folder
from bough.agents.pty_client.start_terminal import end_terminal, shell_env, start_terminal
from bough.agents.pty_keeper.scrollback import LIMIT, Scrollback
from bough.errors import AgentFailed
from tests.agents.keeper_peers import gone
from tests.agents.pty.shells import PATIENCE, Shells, shells_in
from tests.support.eventually import eventually


@pytest.fixture(autouse=True)
def plain_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    monkeypatch.setenv("PS1", "$ ")
    monkeypatch.delenv("ENV", raising=False)


@pytest.fixture
async def shells(tmp_path: Path) -> AsyncGenerator[Shells]:
    async with shells_in(tmp_path) as shells:
        yield shells


async def test_a_shell_runs_on_a_terminal(shells: Shells) -> None:
    """Y1: The shell has a terminal of its own in the folder, of the size that was asked for; resizing works."""
    viewer = await shells.start()
    await viewer.type("tty; pwd; stty size; echo $TERM $((20+3))\n")
    await viewer.until("xterm-256color 23")
    assert b"/dev/pts/" in viewer.printed
    assert str(shells.folder).encode() in viewer.printed
    assert b"24 80" in viewer.printed
    await viewer.link.resize(100, 30)
    await viewer.type("stty size\n")
    await viewer.until("30 100")
    # Ctrl-C reaches the program, not the shell.
    await viewer.type("cat -n\n")
    await viewer.type("begun\n")
    await viewer.until("1\tbegun")
    await viewer.type("\x03")
    # A shell that is interrupted discards what was typed before its prompt.
    await viewer.until("^C\r\n$ ")
    await viewer.type("echo st''ill\n")
    await viewer.until("still")
    await viewer.type("exit 7\n")
    ended = await viewer.until_end()
    assert (ended.code, ended.reason) == (7, "exited")
    await eventually(lambda: not keeper_folder.is_alive(shells.place()))


async def test_it_outlives_its_viewers_with_its_output(shells: Shells) -> None:
    """Y1: When all viewers have left, the shell continues, and the next viewer sees what was printed."""
    first = await shells.start()
    await first.type("name=kept; echo be''fore\n")
    await first.until("before")
    await first.link.close()
    second = await shells.attach()
    await second.until("before")
    await second.type("echo it is $name\n")
    await second.until("it is kept")


async def test_several_viewers_see_the_same(shells: Shells) -> None:
    """Y1: All viewers get the same output and the size that one of them chose."""
    first = await shells.start()
    second = await shells.attach()
    await first.type("echo o''ne\n")
    await second.until("one")
    await second.type("echo t''wo\n")
    await first.until("two")
    await second.until("two")
    await second.link.resize(120, 40)
    async with asyncio.timeout(PATIENCE):
        while not first.sizes:
            await first.step()
    assert first.sizes == [(120, 40)]
    third = await shells.attach()
    assert (third.link.welcome["columns"], third.link.welcome["rows"]) == (120, 40)


async def test_output_is_bounded(shells: Shells) -> None:
    """Y1: A shell that prints without end fills no memory; a later viewer gets the end of it, from a whole line."""
    viewer = await shells.start()
    await viewer.type("seq 1 600000; echo d''one\n")
    await viewer.until("done")
    late = await shells.attach()
    welcome = late.link.welcome
    assert welcome["end"] > 4 * LIMIT
    assert 0 < welcome["end"] - welcome["start"] <= LIMIT + LIMIT // 4
    await late.until("done")
    lines = late.printed.split(b"\r\n")
    assert lines[0].isdigit()
    assert lines[1] == b"%d" % (int(lines[0]) + 1)


async def test_a_slow_viewer_slows_the_shell(shells: Shells) -> None:
    """Y1: While the only viewer does not read, the shell waits; then nothing is missing."""
    viewer = await shells.start()
    await viewer.type("seq 1 400000; echo d''one\n")
    await viewer.until("done")
    assert viewer.skipped == 0
    assert b"\r\n399999\r\n400000\r\ndone" in viewer.printed


async def test_nothing_is_left_behind(shells: Shells) -> None:
    """Y1: What a terminal started ends with it, in whatever session, also if it ignores being told."""
    viewer = await shells.start()
    await viewer.type("(trap '' HUP TERM; setsid sleep 601 & echo child=$!.; wait) & nohup sleep 602 & echo r''un\n")
    await viewer.until("child=")
    await viewer.until("run")
    mark = b"BOUGH_KEEPER=one"
    before = process_tree.marked(mark)
    assert len(before) >= 3
    await end_terminal(shells.place())
    assert process_tree.marked(mark) == []
    assert all(gone(process.pid) for process in before)
    assert not shells.place().exists()


async def test_it_ends_with_its_folder(shells: Shells) -> None:
    """Y1: A keeper whose folder is gone ends its shell and itself."""
    await shells.start()
    info = shells.info()
    shutil.rmtree(shells.place())
    await eventually(lambda: gone(info.keeper.pid) and gone(info.agent.pid))


async def test_it_ends_after_the_idle_limit(shells: Shells) -> None:
    """Y1: A terminal that nobody looks at and that prints nothing ends after the limit, but not before."""
    viewer = await shells.start(idle_limit=0.1)
    info = shells.info()
    await viewer.type("echo h''ere\n")
    await viewer.until("here")
    assert not gone(info.agent.pid)
    await viewer.link.close()
    await eventually(lambda: gone(info.keeper.pid))
    exit = keeper_folder.read_terminal_exit(shells.place())
    assert exit is not None
    assert exit.reason == "idle"


async def test_a_shell_that_cannot_start_is_an_error(shells: Shells, monkeypatch: pytest.MonkeyPatch) -> None:
    """Y1: A shell that does not run is reported, and leaves no folder."""
    broken = shells.root / "broken"
    broken.write_text("no program")
    broken.chmod(0o755)
    monkeypatch.setenv("SHELL", str(broken))
    with pytest.raises(AgentFailed, match="Exec format error"):
        await start_terminal(
            shells.root / "terminals", "one", cwd=str(shells.folder), columns=80, rows=24, idle_limit=None
        )
    assert not shells.place().exists()


def test_bough_s_own_variables_stay_out() -> None:
    """Y1: A terminal inherits the server's environment, but nothing that is Bough's own."""
    env = shell_env({"PATH": "/bin", "BOUGH_DATABASE": "postgresql://u:p@h/d", "AGENT_TOKEN": "x", "TERM": "dumb"})
    assert env == {"PATH": "/bin", "TERM": "xterm-256color", "COLORTERM": "truecolor"}


def test_the_scrollback_holds_the_end() -> None:
    """Y1: The oldest output is dropped, and places stay numbers of bytes since the beginning."""
    held = Scrollback(limit=100)
    for number in range(100):
        held.add(b"%02d\n" % number)
    assert held.end == 300
    assert 100 <= held.end - held.start <= 125
    place = held.beginning()
    assert place % 3 == 0
    assert held.read(place, 3) == b"%02d\n" % (place // 3)
