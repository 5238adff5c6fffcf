"""A session is one shell to its user: its folder and exports persist, even across a kill."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.agents.terminal.terminals import Json, Terminal

SHELLS = [path for name in ("bash", "dash", "sh") if (path := shutil.which(name))]


@pytest.fixture(params=SHELLS, ids=lambda path: Path(path).name)
async def shell(request: pytest.FixtureRequest, home: Path) -> AsyncGenerator[Terminal]:
    """Runs the agent with each installed shell."""
    async with Terminal.start(home, {"BOUGH_TERMINAL_SHELL": request.param, "GIVEN": "1"}) as started:
        yield started


async def test_folder_and_exports_persist(shell: Terminal, cwd: Path) -> None:
    """L5: `cd` and exports apply to the next command, however the command that made them ended."""
    session = await shell.open(cwd)
    (cwd / "sub dir").mkdir()
    await shell.run(session, "cd 'sub dir'; export X=1; exit 3")
    assert await shell.output(session, 'pwd; echo "$X"') == f"{cwd}/sub dir\n1\n"
    assert shell.of(session, "tool_call")[-1]["rawInput"]["cwd"] == f"{cwd}/sub dir"
    await shell.run(session, "cd -; export Y='a\nb \"c\" $d'; unset X GIVEN; false")
    assert await shell.output(session, 'pwd; echo "${X-none} ${GIVEN-none} $Y"') == f'{cwd}\nnone none a\nb "c" $d\n'
    await shell.run(session, "not_exported=1")
    assert await shell.output(session, 'echo "${not_exported-none}"') == "none\n"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("set -e; cd sub; false; echo no", ""),
        ("set -u; cd sub; exit", ""),
        ("set -C; cd sub", ""),
        ("set -a; cd sub", ""),
        ("cd sub; trap 'echo mine' EXIT", "mine\n"),
        ("cd sub; (cd /; exit 4)", ""),
        ("pwd() { echo no; }; printf() { echo no; }; env() { echo no; }; cd sub", ""),
        ("cd sub; PATH=/nowhere", ""),
        ("cd sub; exec 2>&- >&-", ""),
        ("cd sub # and no more", ""),
        ("cat <<END\ntext\nEND\ncd sub", "text\n"),
        ("set -v; cd sub", ""),
    ],
)
async def test_commands_do_not_break_the_state(shell: Terminal, cwd: Path, command: str, output: str) -> None:
    """L5: Options, traps and functions of a command neither lose the state nor leak it into the output."""
    session = await shell.open(cwd)
    (cwd / "sub").mkdir()
    assert await shell.output(session, command) == output
    assert await shell.output(session, "pwd") == f"{cwd}/sub\n"
    assert "BOUGH" not in await shell.output(session, "export -p")


async def test_tracing_shows_only_the_command(shell: Terminal, cwd: Path) -> None:
    """L5: `set -x` shows the user's command and nothing of ours."""
    session = await shell.open(cwd)
    for command in ("set -x; cd /; echo a", "set -x; cd /; echo a; exit 1"):
        lines = [line.lstrip("+ ") for line in (await shell.output(session, command)).splitlines()]
        assert [line for line in lines if line != "exit 1"] == ["cd /", "echo a", "a"]
    assert await shell.output(session, "pwd") == "/\n"


async def test_a_killed_shell_changes_nothing(shell: Terminal, cwd: Path) -> None:
    """L5: After a kill or an `exec` the shell is in the same state as before."""
    session = await shell.open(cwd)
    (cwd / "sub").mkdir()
    await shell.run(session, "cd sub")
    await shell.run(session, "cd /; kill -KILL $$")
    await shell.run(session, "cd /; exec true")
    assert await shell.output(session, "pwd") == f"{cwd}/sub\n"


async def test_a_path_through_a_link_is_kept(terminal: Terminal, cwd: Path) -> None:
    """L5: A shell shows the path through the link, in the next command too."""
    session = await terminal.open(cwd)
    (cwd / "real").mkdir()
    (cwd / "link").symlink_to("real")
    await terminal.run(session, "cd link")
    assert await terminal.output(session, "pwd; pwd -P") == f"{cwd}/link\n{cwd}/real\n"


async def test_a_folder_that_is_gone(terminal: Terminal, cwd: Path) -> None:
    """L5: A shell whose folder is gone returns to the session's folder, and says so once."""
    session = await terminal.open(cwd)
    (cwd / "sub").mkdir()
    await terminal.run(session, "cd sub")
    (cwd / "sub").rmdir()
    assert await terminal.output(session, "pwd") == f"[{cwd}/sub is gone; this runs in {cwd}]\n{cwd}\n"
    assert await terminal.output(session, "pwd") == f"{cwd}\n"
    assert await terminal.output(session, "mkdir x; cd x; rmdir ../x") == ""
    assert await terminal.output(session, "pwd") == f"[{cwd}/x is gone; this runs in {cwd}]\n{cwd}\n"


async def test_too_many_exports_are_not_kept(terminal: Terminal, cwd: Path) -> None:
    """L5: Exports beyond the limit are not kept, and a note says so; the folder is kept."""
    session = await terminal.open(cwd)
    (cwd / "sub").mkdir()
    big = "; ".join(f"export BIG{index}=$x" for index in range(3))
    output = await terminal.output(session, f"cd sub; x=$(head -c 100000 /dev/zero | tr '\\0' x); {big}")
    assert "too large to be kept" in output
    assert await terminal.output(session, 'pwd; echo "${BIG0-none}"') == f"{cwd}/sub\nnone\n"


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_a_kill_loses_nothing(home: Path, cwd: Path, method: str) -> None:
    """O2: After kill -9 a loaded or resumed session still has its folder, exports and mode; loading replays it."""
    (cwd / "sub").mkdir()
    async with Terminal.start(home) as terminal:
        session = await terminal.open(cwd)
        await terminal.run(session, "cd sub; export X=1; echo said")
        terminal.process.kill()
        await terminal.exit_code()
    async with Terminal.start(home) as terminal:
        answer = await terminal.request(method, {"sessionId": session, "cwd": str(cwd), "mcpServers": []})
        assert answer["modes"]["currentModeId"] == "allow-all"
        replayed = [each["update"]["sessionUpdate"] for each in terminal.updates]
        whole = ["user_message_chunk", "tool_call", "tool_call_update", "tool_call_update", "agent_message_chunk"]
        assert replayed == (whole if method == "session/load" else [])
        assert await terminal.output(session, "pwd; echo $X") == f"{cwd}/sub\n1\n"
        listed = (await terminal.request("session/list", {"cwd": str(cwd)}))["sessions"]
        assert [each["sessionId"] for each in listed] == [session]
        assert os.listdir(home) == [f"{session}.jsonl"]
        assert os.stat(home / f"{session}.jsonl").st_mode & 0o777 == 0o600


async def test_an_interrupted_command_has_failed(home: Path, cwd: Path) -> None:
    """O2: After kill -9 during a turn, loading shows that the command failed, and the shell's folder before it."""
    async with Terminal.start(home) as terminal:
        session = await terminal.open(cwd)
        terminal.send_prompt(session, "cd /; echo $$; exec sleep 60")
        await terminal.until(lambda: bool(terminal.shown(session)))
        command = int(terminal.shown(session)[0])
        terminal.process.kill()
        await terminal.exit_code()
    # Bough's keeper ends the processes of a killed agent; here nothing does.
    os.kill(command, signal.SIGKILL)
    async with Terminal.start(home) as terminal:
        await terminal.request("session/load", {"sessionId": session, "cwd": str(cwd), "mcpServers": []})
        (tool,) = terminal.tools(session)
        assert (tool["status"], tool["rawOutput"]["exitCode"]) == ("failed", None)
        assert await terminal.output(session, "pwd") == f"{cwd}\n"


async def test_the_inherited_environment_may_change(home: Path, cwd: Path) -> None:
    """P3: Only the user's exports are stored; other variables come from the environment in which the agent was
    started."""
    async with Terminal.start(home, {"GIVEN": "old-secret"}) as terminal:
        session = await terminal.open(cwd)
        await terminal.run(session, "export MINE=kept")
    assert "old-secret" not in (home / f"{session}.jsonl").read_text()
    async with Terminal.start(home, {"GIVEN": "new"}) as terminal:
        await terminal.request("session/resume", {"sessionId": session, "cwd": str(cwd), "mcpServers": []})
        assert await terminal.output(session, "echo $GIVEN $MINE") == "new kept\n"


async def test_a_fork_starts_in_its_parents_folder(terminal: Terminal, cwd: Path, tmp_path: Path) -> None:
    """B1: A fork has its parent's state, at the same place in its own folder, and develops independently."""
    for folder in (cwd / "sub", tmp_path / "other" / "sub"):
        folder.mkdir(parents=True)
    session = await terminal.open(cwd)
    await terminal.run(session, "cd sub; export X=1")
    for folder in (cwd, tmp_path / "other"):
        asked: Json = {"sessionId": session, "cwd": str(folder), "mcpServers": []}
        fork = (await terminal.request("session/fork", asked))["sessionId"]
        assert await terminal.output(fork, "pwd; echo $X; cd /; export X=2") == f"{folder}/sub\n1\n"
    assert await terminal.output(session, "pwd; echo $X") == f"{cwd}/sub\n1\n"
