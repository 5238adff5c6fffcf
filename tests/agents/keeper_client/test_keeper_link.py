"""A keeper's link behaves like a process link: lines, exits, slowness and failures."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest

from bough.agents.keeper.agent_process import IGNORED
from bough.agents.keeper_client import keeper_folder
from bough.agents.link import LinkClosed
from bough.errors import AgentFailed
from tests.agents.keeper_peers import Keepers, gone, keeper_pid, read, read_dead, read_to_end
from tests.support.eventually import eventually

COUNT = """
import sys
for number in range(int(sys.argv[1])):
    sys.stdout.write(f"{number:049d}\\n")
"""
"""Writes this many lines of 50 bytes as fast as it can, and exits."""


async def test_lines_both_ways(keepers: Keepers, tmp_path: Path) -> None:
    """C1: Lines come back whole and numbered, in the requested folder and environment."""
    (tmp_path / "agent").symlink_to("/bin/cat")
    link = await keepers.start("./agent", cwd=str(tmp_path), env={"X": "1"})
    for number in range(3):
        assert await link.send(b"line %d" % number, f"key {number}")
    assert await read(link, 3) == [b"line 0", b"line 1", b"line 2"]
    assert os.readlink(f"/proc/{link.pid}/cwd") == str(tmp_path)
    assert psutil.Process(link.pid).environ() == {"X": "1", "BOUGH_KEEPER": link.folder.name}
    assert os.getsid(link.pid) == link.pid
    exit = await link.end()
    assert (exit.code, exit.signal, exit.stderr) == (0, None, "")
    assert gone(link.pid)
    assert not keeper_folder.is_alive(link.folder)
    with pytest.raises(LinkClosed):
        await link.send(b"more", "key 3")
    with pytest.raises(LinkClosed):
        await link.receive()


@pytest.mark.parametrize(
    ("argv", "cwd", "words"),
    [
        (["no-such-agent"], "/", "no-such-agent cannot start: the program 'no-such-agent' was not found"),
        (["true"], "/no/such/folder", "/no/such/folder does not exist"),
    ],
)
async def test_nothing_to_start(keepers: Keepers, argv: list[str], cwd: str, words: str) -> None:
    """C1: A missing program or folder is reported plainly."""
    with pytest.raises(AgentFailed, match=words) as caught:
        await keepers.start(*argv, cwd=cwd)
    assert caught.value.code == "agent_missing"
    assert keeper_folder.list_keepers(keepers.root) == []


async def test_a_file_that_cannot_run(keepers: Keepers, tmp_path: Path) -> None:
    """C1: A program that the system refuses to run is the same failure, though only the keeper notices."""
    program = tmp_path / "agent"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    with pytest.raises(AgentFailed, match=r"agent could not be started in /: No such file") as caught:
        await keepers.start(str(program))
    assert caught.value.code == "agent_missing"
    assert keeper_folder.list_keepers(keepers.root) == []


async def test_the_exit_is_reported(keepers: Keepers) -> None:
    """O2: The server and the folder get the exit code, the stderr and the last line, even without a newline."""
    link = await keepers.start("sh", "-c", "echo one; echo why >&2; printf two; exit 3")
    lines, exit = await read_to_end(link)
    assert lines == [b"one", b"two"]
    assert (exit.code, exit.signal, exit.stderr) == (3, None, "why\n")
    assert await link.end() == exit
    assert read_dead(link.folder, 0) == ([b"one", b"two"], exit)


async def test_a_signal_is_reported(keepers: Keepers) -> None:
    """O2: Reports the signal that killed an agent from outside."""
    link = await keepers.start("cat")
    os.kill(link.pid, signal.SIGKILL)
    _, exit = await read_to_end(link)
    assert (exit.code, exit.signal) == (None, signal.SIGKILL)


async def test_signals_of_the_agent_have_their_defaults(keepers: Keepers) -> None:
    """C1: An agent does not inherit the signals that its keeper ignores; it is as if this process had started it."""
    look = ("grep", "-E", "Sig(Ign|Blk)", "/proc/self/status")
    link = await keepers.start(*look)
    lines, _ = await read_to_end(link)
    ours = await asyncio.create_subprocess_exec(*look, stdout=asyncio.subprocess.PIPE)
    expected, _ = await ours.communicate()
    blocked, ignored = (int(line.split()[1], 16) for line in lines)
    our_blocked, our_ignored = (int(line.split()[1], 16) for line in expected.splitlines())
    assert blocked == our_blocked
    assert not ignored & _mask(IGNORED)
    # 32 and 33 belong to the C library: its posix_spawn leaves them ignored, and programs that need them set them. A
    # shell makes its background processes ignore SIGQUIT, which some event loops undo and others do not.
    others = (signal.SIGQUIT, 32, 33)
    assert ignored & ~_mask(others) == our_ignored & ~_mask((*IGNORED, *others))


def _mask(numbers: Iterable[int]) -> int:
    return sum(1 << number - 1 for number in numbers)


async def test_stderr_is_read_and_bounded(keepers: Keepers) -> None:
    """C1: A megabyte of stderr blocks nobody, only its tail is kept, and a later server gets it too."""
    link = await keepers.start(sys.executable, "-m", "tests.support.misbehaving_agents.bad_output.stderr_flood")
    await eventually(lambda: link.stderr_tail().endswith("16383\n"))
    assert len(link.stderr_tail()) == 64 * 1024
    await link.leave()
    link = await keepers.attach(link, 0)
    await eventually(lambda: link.stderr_tail().endswith("16383\n"))
    assert len(link.stderr_tail()) == 64 * 1024


async def test_a_known_key_is_not_written_again(keepers: Keepers) -> None:
    """Q4: One send per key, over reconnections too, until the task is closed."""
    link = await keepers.start("cat")
    assert await link.send(b"prompt", "task:1:prompt")
    assert not await link.send(b"prompt", "task:1:prompt")
    await link.leave()
    link = await keepers.attach(link, 0)
    assert link.welcome.keys == ["task:1:prompt"]
    assert not await link.send(b"prompt", "task:1:prompt")
    assert await link.send(b"answer", "task:2:answer")
    link.forget("task:1:")
    assert not await link.send(b"answer", "task:2:answer")
    assert await link.send(b"prompt again", "task:1:prompt")
    assert await read(link, 3) == [b"prompt", b"answer", b"prompt again"]
    await link.end()
    assert keeper_folder.read_sent(link.folder) == {"task:1:prompt", "task:2:answer"}


async def test_a_cancelled_send_is_still_sent_whole(keepers: Keepers) -> None:
    """Q4: A line whose sender no longer waits is still sent whole and in order."""
    link = await keepers.start("cat")
    sends = [asyncio.create_task(link.send(b"%d" % number, str(number))) for number in range(5)]
    await asyncio.sleep(0)
    sends[0].cancel()
    sends[3].cancel()
    await asyncio.wait(sends)
    assert await read(link, 5) == [b"0", b"1", b"2", b"3", b"4"]


async def test_sending_waits_for_a_slow_reader(keepers: Keepers) -> None:
    """C1: While the agent does not read, senders wait; it can still be ended."""
    link = await keepers.start("sleep", "60")
    assert await link.send(b"x" * 1_000_000, "a")
    sends = [asyncio.create_task(link.send(b"x" * 500_000, key)) for key in ("b", "c")]
    done, _ = await asyncio.wait(sends, timeout=0.05)
    assert not done
    exit = await link.end(grace=0.05)
    assert exit.signal == signal.SIGTERM
    for send in sends:
        with pytest.raises(LinkClosed):
            await send


async def test_a_large_line_each_way(keepers: Keepers) -> None:
    """C1: A prompt of 5 MB comes back whole."""
    link = await keepers.start("cat")
    line = os.urandom(2_500_000).hex().encode()
    assert await link.send(line, "large")
    assert await read(link, 1) == [line]


async def test_a_line_that_never_ends(keepers: Keepers) -> None:
    """C1: The agent is ended for it, and the reason is reported as with a process link."""
    link = await keepers.python("while True: print('x' * 1000000, end='')")
    with pytest.raises(AgentFailed, match="wrote a line that is too long") as caught:
        await link.receive()
    assert caught.value.code == "line_too_long"
    assert gone(link.pid)


async def test_an_agent_that_closes_stdout_is_ended(keepers: Keepers) -> None:
    """O2: An agent that closes stdout but keeps running is ended, because it could never answer."""
    link = await keepers.start("sh", "-c", "echo one; exec >&-; cat <&0 >/dev/null")
    lines, exit = await read_to_end(link)
    assert lines == [b"one"]
    assert exit.code == 0


async def test_ending_loses_no_unread_lines(keepers: Keepers) -> None:
    """O2: Lines that were written before the end are delivered after it, however late."""
    link = await keepers.python(COUNT, "400000")
    exit = await link.end(grace=30)
    assert exit.code == 0
    assert gone(keeper_pid(link))
    lines, _ = await read_to_end(link)
    assert lines == [b"%049d" % number for number in range(400_000)]


async def test_end_is_idempotent_and_not_cut_short(keepers: Keepers) -> None:
    """T3: A caller that is cancelled while it ends an agent still leaves no process behind."""
    link = await keepers.agent("never_exits")
    first, second = (asyncio.create_task(link.end(grace=0.1)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    assert first.cancelled()
    assert gone(link.pid)
    assert await link.end() == await second
