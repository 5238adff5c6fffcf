"""The link to a child process: lines both ways, flow control, and an end that leaves no process."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from bough.agents.link import LinkClosed
from bough.agents.process import process_link, process_pipes
from bough.agents.process.process_link import ProcessLink, start_process
from bough.errors import AgentFailed
from tests.agents.acp.acp_peers import command, peer
from tests.support.eventually import eventually


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def start(*argv: str, cwd: str = "/") -> ProcessLink:
    return await start_process(argv, cwd=cwd, env=os.environ)


async def lines_until_closed(link: ProcessLink) -> list[bytes]:
    lines: list[bytes] = []
    with pytest.raises(LinkClosed):
        while True:
            lines += (await link.receive()).lines
    return lines


@pytest.mark.parametrize(
    ("argv", "cwd", "words"),
    [
        (
            ["no-such-agent", "--acp"],
            "/",
            "no-such-agent --acp cannot start: the program 'no-such-agent' was not found",
        ),
        (["true"], "/no/such/folder", "/no/such/folder does not exist"),
    ],
)
async def test_nothing_to_start(argv: list[str], cwd: str, words: str) -> None:
    """C1: A missing program or folder is reported plainly."""
    with pytest.raises(AgentFailed, match=words) as caught:
        await start(*argv, cwd=cwd)
    assert caught.value.code == "agent_missing"
    assert caught.value.details["command"] == argv


async def test_a_file_that_cannot_run(tmp_path: Path) -> None:
    """C1: A program that the system refuses to run is the same failure."""
    program = tmp_path / "agent"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o644)
    with pytest.raises(AgentFailed, match=r"agent cannot start: .* is not executable"):
        await start(str(program))
    program.chmod(0o755)
    with pytest.raises(AgentFailed, match=r"agent could not be started") as caught:
        await start(str(program))
    assert caught.value.code == "agent_missing"


async def test_lines_both_ways(tmp_path: Path) -> None:
    """C1: Lines come back whole and in order, in the requested folder and environment."""
    (tmp_path / "agent").symlink_to("/bin/cat")
    async with await start_process(["./agent"], cwd=str(tmp_path), env={"X": "1"}) as link:
        for number in range(3):
            await link.send(b"line %d" % number, "")
        lines: list[bytes] = []
        while len(lines) < 3:
            lines += (await link.receive()).lines
        assert lines == [b"line 0", b"line 1", b"line 2"]
        assert os.readlink(f"/proc/{link.pid}/cwd") == str(tmp_path)
        assert psutil.Process(link.pid).environ() == {"X": "1"}
        assert os.getsid(link.pid) == link.pid
        exit = await link.end()
    assert (exit.code, exit.signal) == (0, None)
    with pytest.raises(LinkClosed):
        await link.send(b"more", "")


async def test_the_exit_is_reported() -> None:
    """O2: Reports the exit code, the stderr and the last line, even without a newline."""
    async with await start("sh", "-c", "echo one; echo why >&2; printf two; exit 3") as link:
        assert await lines_until_closed(link) == [b"one", b"two"]
        with pytest.raises(LinkClosed) as closed:
            await link.receive()
    assert (closed.value.exit.code, closed.value.exit.signal, closed.value.exit.stderr) == (3, None, "why\n")


async def test_a_signal_is_reported() -> None:
    """O2: Reports the signal that killed an agent from outside."""
    async with await start("cat") as link:
        os.kill(link.pid, signal.SIGKILL)
        with pytest.raises(LinkClosed) as closed:
            await link.receive()
    assert (closed.value.exit.code, closed.value.exit.signal) == (None, signal.SIGKILL)


async def test_stderr_can_be_opened_as_a_file() -> None:
    """C1: Commands of an agent can open /dev/stderr, which works with pipes but not with sockets."""
    async with await start("sh", "-c", "echo hello > /dev/stderr") as link:
        await lines_until_closed(link)
        assert link.stderr_tail() == "hello\n"


async def test_stderr_is_read_and_bounded() -> None:
    """C1: A megabyte of stderr blocks nobody, and only its tail is kept."""
    async with peer("stderr_flood") as agent:
        await agent.open()
        tail = agent.link.stderr_tail()
    assert len(tail) == process_pipes.STDERR_TAIL
    assert tail.endswith("16383\n")


FLOOD = """
import os
for number in range(2000):
    os.write(1, b"".join(b"%099d\\n" % (number * 100 + n) for n in range(100)))
"""
"""Writes 20 MB of numbered lines as fast as it can."""


async def blocked_at(pid: int) -> int:
    """Waits until a process with one thread is blocked on its full stdout, and returns how many bytes it wrote."""
    process = psutil.Process(pid)
    before = 0

    def look() -> int | None:
        # Unless reading is paused, the event loop reads from the pipe between two checks, which wakes the process.
        nonlocal before
        earlier, before = before, process.io_counters().write_chars
        is_blocked = before == earlier > process_pipes.UNDELIVERED_LIMIT
        return before if is_blocked and process.status() == psutil.STATUS_SLEEPING else None

    return await eventually(look, "the agent is blocked")


async def test_reading_pauses_while_lines_are_not_taken() -> None:
    """C1: A fast agent blocks on its pipe, so memory does not grow and nothing is lost."""
    async with await start(sys.executable, "-c", FLOOD) as link:
        written = await blocked_at(link.pid)
        lines = await lines_until_closed(link)
    assert written < process_pipes.UNDELIVERED_LIMIT + 1024 * 1024
    assert lines == [b"%099d" % number for number in range(200_000)]


async def test_a_dead_agent_loses_no_unread_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """O2: Lines from before the end are delivered after it, however late."""
    monkeypatch.setattr(process_link, "LAST_WORDS", 0.01)
    looks = 0

    class WatchedPipe(process_pipes.StdoutLines):
        @property
        def idle(self) -> bool:
            nonlocal looks
            looks += 1
            return super().idle

    monkeypatch.setattr(process_pipes, "StdoutLines", WatchedPipe)
    # More than we buffer unread, but the rest fits into the pipe, so the agent can exit.
    count = process_pipes.UNDELIVERED_LIMIT // 100 + 640
    flood = f"import sys\nfor i in range({count}): sys.stdout.write(f'{{i:099d}}\\n')"
    async with await start(sys.executable, "-c", flood) as link:
        await eventually(lambda: gone(link.pid))
        # It has been silent for so long that an empty pipe would have been abandoned.
        await eventually(lambda: looks >= 3, "the silence of the pipe was noticed")
        lines = await lines_until_closed(link)
    assert lines == [b"%099d" % number for number in range(count)]


async def test_end_leaves_no_process() -> None:
    """O2: An agent that ignores EOF and SIGTERM is ended, with its grandchild in another session."""
    async with peer("never_exits") as agent:
        session = await agent.open()
        await agent.client.prompt(session, [], "p1")
        grandchild = int(agent.ear.texts[0])
        children = psutil.Process(agent.link.pid).children(recursive=True)
        tree = [agent.link.pid, *(child.pid for child in children)]
        assert grandchild in tree
        exit = await agent.link.end(grace=0.1)
        assert exit.signal == signal.SIGKILL
        assert await agent.run == exit
        assert all(gone(pid) for pid in tree)


async def test_end_includes_leftover_commands() -> None:
    """O2: When the agent exits politely, a command that it left behind is ended too."""
    async with peer("leaves_children") as agent:
        session = await agent.open()
        await agent.client.prompt(session, [], "p1")
        child = int(agent.ear.texts[0])
        assert not gone(child)
        exit = await agent.link.end(grace=5)
        assert (exit.code, exit.signal) == (0, None)
        assert gone(child)


async def test_a_death_is_noticed_while_a_command_holds_the_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """O2: The agent ends with its process, not with the last process that holds its stdout."""
    monkeypatch.setattr(process_link, "LAST_WORDS", 0.1)
    async with peer("leaves_children", "crash") as agent:
        session = await agent.open()
        with pytest.raises(AgentFailed, match="ended with code 5"):
            await agent.client.prompt(session, [], "p1")
        # A dead agent's orphans cannot be traced back to it; only a subreaper could end them too.
        os.kill(int(agent.ear.texts[0]), signal.SIGKILL)


async def test_end_is_idempotent_and_not_cut_short() -> None:
    """T3: A caller that is cancelled while it ends an agent still leaves no process behind."""
    link = await start(*command("never_exits"))
    await asyncio.sleep(0)
    first, second = (asyncio.create_task(link.end(grace=0.1)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    assert first.cancelled()
    assert gone(link.pid)
    assert (await second).signal is not None
    assert await link.end() == await second
