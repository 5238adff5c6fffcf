"""A prompt is a command, and its output and its exit are reported correctly."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import psutil
import pytest

from bough.agents.terminal.output import HEAD, LIVE_HEAD, LIVE_TAIL, TAIL
from bough.core.turns.continuation_prompt import CONTINUE, quoted
from tests.agents.terminal.terminals import WAIT_FOR_GO, Json, Terminal


async def test_a_command_is_a_tool_call(terminal: Terminal, cwd: Path) -> None:
    """C1: Title, kind and input of the tool call show the command and its folder; the result has exit code and
    output."""
    session = await terminal.open(cwd)
    tool = await terminal.run(session, "echo hi; exit 3")
    announced = terminal.of(session, "tool_call")[0]
    assert (announced["title"], announced["kind"], announced["status"]) == ("echo hi; exit 3", "execute", "pending")
    assert announced["rawInput"] == {"command": "echo hi; exit 3", "cwd": str(cwd)}
    assert tool["status"] == "failed"
    assert tool["rawOutput"] == {"exitCode": 3, "signal": None, "output": "hi\n"}
    assert tool["content"] == [{"type": "content", "content": {"type": "text", "text": "hi\n"}}]
    assert terminal.said(session) == "exit 3"


@pytest.mark.parametrize(
    ("command", "message", "code", "signal"),
    [
        ("true", "done", 0, None),
        ("echo x", "exit 0", 0, None),
        ("false", "exit 1", 1, None),
        ("kill -KILL $$", "killed by SIGKILL", None, "SIGKILL"),
        ("sh -c 'kill -KILL $$'; exit 137", "exit 137", 137, None),
        ("no-such-program", "exit 127", 127, None),
        ("if", "exit 2", 2, None),
    ],
)
async def test_the_end_is_reported(
    terminal: Terminal, cwd: Path, command: str, message: str, code: int | None, signal: str | None
) -> None:
    """C1: A command is completed only with exit code 0; a short message says how it ended."""
    session = await terminal.open(cwd)
    tool = await terminal.run(session, command)
    assert (tool["rawOutput"]["exitCode"], tool["rawOutput"]["signal"]) == (code, signal)
    assert tool["status"] == ("completed" if code == 0 else "failed")
    assert terminal.said(session) == message


async def test_stdout_and_stderr_keep_their_order(terminal: Terminal, cwd: Path) -> None:
    """C1: stdout and stderr arrive as plain text in the order in which they were printed."""
    session = await terminal.open(cwd)
    assert await terminal.output(session, "echo a; echo b >&2; echo c; echo $TERM; [ -t 1 ] || echo pipe") == (
        "a\nb\nc\ndumb\npipe\n"
    )


@pytest.mark.skipif(not shutil.which("bash"), reason="process substitution is bash's")
async def test_late_output_is_included(terminal: Terminal, cwd: Path) -> None:
    """C1: Output of a process substitution, which the shell does not wait for, belongs to the command."""
    session = await terminal.open(cwd)
    assert await terminal.output(session, "echo late > >(sleep 0.05; cat)") == "late\n"


async def test_stdin_is_empty(terminal: Terminal, cwd: Path) -> None:
    """C1: A command that reads its input gets EOF at once."""
    session = await terminal.open(cwd)
    assert await terminal.output(session, "cat; echo end") == "end\n"


async def test_output_is_streamed(terminal: Terminal, cwd: Path) -> None:
    """C1: Output is shown while the command still runs."""
    session = await terminal.open(cwd)
    turn = terminal.send_prompt(session, f"echo first; {WAIT_FOR_GO}; echo second")
    await terminal.until(lambda: "first\n" in terminal.shown(session))
    (cwd / "go").touch()
    assert await terminal.answer(turn) == {"stopReason": "end_turn"}
    assert terminal.shown(session)[-1] == "first\nsecond\n"


async def test_a_character_is_never_cut(terminal: Terminal, cwd: Path) -> None:
    """C1: Half a character waits for its other half; bytes that are not text are replaced."""
    session = await terminal.open(cwd)
    turn = terminal.send_prompt(session, f"printf 'x\\303'; {WAIT_FOR_GO}; printf '\\251 \\377 a\\0b'")
    await terminal.until(lambda: terminal.shown(session) == ["x"])
    (cwd / "go").touch()
    await terminal.answer(turn)
    assert terminal.shown(session)[-1] == "xé \ufffd a\u2400b"


async def test_a_flood_is_bounded(terminal: Terminal, cwd: Path) -> None:
    """C1: Keeps the beginning and the end of long output and says how much was left out; memory stays small."""
    session = await terminal.open(cwd)
    agent = psutil.Process(terminal.process.pid)
    await terminal.run(session, "true")
    before = agent.memory_info().rss
    output = await terminal.output(session, "echo begin; yes | head -c 100000000; echo end")
    assert output.startswith("begin\ny\n")
    assert output.endswith("y\nend\n")
    left_out = 100_000_010 - HEAD - TAIL
    assert f"\n[… {left_out} bytes are left out here …]\n" in output
    assert len(output) < HEAD + TAIL + 100
    assert agent.memory_info().rss - before < 40 << 20
    growing = terminal.shown(session)[:-1]
    assert max(map(len, growing), default=0) < LIVE_HEAD + LIVE_TAIL + 100


async def test_an_endless_flood_does_not_drown_a_client(terminal: Terminal, cwd: Path) -> None:
    """C1: Updates are limited however fast a command prints, and the command can be stopped."""
    session = await terminal.open(cwd)
    turn = terminal.send_prompt(session, "yes")
    start = asyncio.get_running_loop().time()
    await terminal.until(lambda: len(terminal.shown(session)) >= 5)
    took = asyncio.get_running_loop().time() - start
    assert len(terminal.shown(session)) <= 1 + took * 20 + 1
    terminal.notify("session/cancel", {"sessionId": session})
    assert await terminal.answer(turn) == {"stopReason": "cancelled"}
    assert terminal.tools(session)[0]["rawOutput"]["output"].startswith("y\ny\n")


async def test_variables_of_bough_are_hidden_from_commands(home: Path, cwd: Path) -> None:
    """P3, Y4: A command's environment has no variable of Bough's but for the worktree's ports, whether inherited or
    exported by a command."""
    env = {"BOUGH_TOKEN": "secret", "BOUGH_KEEPER": "some-id", "MINE": "yes", "BOUGH_PORT_1": "20001"}
    async with Terminal.start(home, env) as terminal:
        session = await terminal.open(cwd)
        await terminal.run(session, "export BOUGH_MINE=1")
        # The shell itself is started with the keeper's mark, so that a sweep finds it; the mark reveals nothing.
        shown = await terminal.output(session, "env; tr '\\0' '\\n' < /proc/$$/environ | grep -c some-id")
        assert [line for line in shown.splitlines() if "BOUGH" in line] == ["BOUGH_PORT_1=20001"]
        assert "secret" not in shown
        assert "MINE=yes" in shown.splitlines()
        assert shown.endswith("\n1\n")


@pytest.mark.parametrize("blocks", [[""], [" \n"], ["echo no > made", ""]])
async def test_a_prompt_without_a_command(terminal: Terminal, cwd: Path, blocks: list[str]) -> None:
    """L5: Only the last text block counts; if it is empty, a message says so."""
    session = await terminal.open(cwd)
    assert await terminal.prompt(session, *blocks) == {"stopReason": "end_turn"}
    assert "no command" in terminal.said(session)
    assert terminal.tools(session) == []
    assert not (cwd / "made").exists()


async def test_only_the_last_text_block_is_run(terminal: Terminal, cwd: Path) -> None:
    """L5: Quoted material goes into earlier blocks and is not run."""
    session = await terminal.open(cwd)
    await terminal.prompt(session, "echo no > made", "echo yes")
    assert terminal.tools(session)[0]["rawOutput"]["output"] == "yes\n"
    assert not (cwd / "made").exists()


async def test_an_interrupted_command_is_not_run_twice(terminal: Terminal, cwd: Path) -> None:
    """O2: Bough's prompt to an interrupted agent is not a command, and the command that it quotes is not run again."""
    session = await terminal.open(cwd)
    await terminal.run(session, "echo x >> made")
    for _ in range(2):
        await terminal.prompt(session, quoted("echo x >> made"), CONTINUE)
        assert "not run again" in terminal.said(session)
    assert (cwd / "made").read_text() == "x\n"


async def test_a_command_that_never_arrived_is_run(terminal: Terminal, cwd: Path) -> None:
    """O2: A command that was sent to a process that was already dead has not started, so it runs, once."""
    session = await terminal.open(cwd)
    await terminal.run(session, "echo before")
    for _ in range(2):
        await terminal.prompt(session, quoted("echo x >> made\necho '> y' >> made"), CONTINUE)
    assert (cwd / "made").read_text() == "x\n> y\n"


@pytest.mark.parametrize("command", ["echo a\0b", "echo " + "x" * 200_000])
async def test_a_command_that_cannot_start(terminal: Terminal, cwd: Path, command: str) -> None:
    """C1: A command that the system refuses fails with the reason, and the next one runs."""
    session = await terminal.open(cwd)
    tool = await terminal.run(session, command)
    assert (tool["status"], tool["rawOutput"]["exitCode"]) == ("failed", None)
    assert terminal.said(session).startswith("It cannot be started: ")
    assert await terminal.output(session, "echo fine") == "fine\n"


async def test_a_missing_shell_or_folder(home: Path, cwd: Path) -> None:
    """C1: Without the configured shell or the session's folder nothing runs, and a message says why."""
    async with Terminal.start(home, {"BOUGH_TERMINAL_SHELL": "/no/such/shell"}) as terminal:
        session = await terminal.open(cwd)
        await terminal.run(session, "true")
        assert "/no/such/shell" in terminal.said(session)
    async with Terminal.start(home) as terminal:
        session = await terminal.open(cwd)
        os.rmdir(cwd)
        await terminal.run(session, "true")
        assert str(cwd) in terminal.said(session)


async def test_the_shell_is_bash_unless_set_otherwise(home: Path, cwd: Path) -> None:
    """L2: The shell is the configured one, or else bash, or else sh; it runs the command with its own name as `$0`."""
    async with Terminal.start(home) as terminal:
        session = await terminal.open(cwd)
        shell = "bash" if shutil.which("bash") else "sh"
        assert await terminal.output(session, 'echo "$0 $# $1"') == f"{shell} 0 \n"
    async with Terminal.start(home, {"BOUGH_TERMINAL_SHELL": "/bin/sh"}) as terminal:
        session = await terminal.open(cwd)
        assert await terminal.output(session, 'echo "$0 $# $1"') == "sh 0 \n"


async def test_capabilities_are_advertised(terminal: Terminal, cwd: Path) -> None:
    """C1: Advertises all session methods, no images, and no MCP over the network."""
    answer = await terminal.request("initialize", {"protocolVersion": 7})
    assert (answer["protocolVersion"], answer["agentInfo"]["name"]) == (1, "bough-terminal")
    can: Json = answer["agentCapabilities"]
    assert can["sessionCapabilities"].keys() == {"list", "resume", "close", "delete", "fork"}
    assert (can["loadSession"], can["mcpCapabilities"]) == (True, {"http": False, "sse": False})
    server: Json = {"name": "x", "command": "/no/such/server", "args": [], "env": []}
    assert await terminal.new(cwd, servers=[server])
