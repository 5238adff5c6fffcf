"""The end of keepers and agents: whole process trees, in bounded steps, for every reason."""

import os
import shutil
import signal
import sys
import time

import psutil
import pytest

from bough.agents.keeper import frames, process_tree
from bough.agents.keeper.files import EXIT, MARK
from bough.agents.keeper_client import keeper_folder
from bough.agents.keeper_client.start_keeper import attach_keeper
from tests.agents.keeper_peers import FAMILY, Keepers, RawClient, gone, keeper_pid, read, read_dead, read_to_end
from tests.support.eventually import eventually

HASTY = """
from bough.agents.keeper import end_agent
end_agent.GRACE = 0.1
from bough.agents.keeper import main_loop
main_loop.FOLDER_CHECK = 0.1
"""
"""A keeper with shorter time limits."""


@pytest.mark.parametrize("flags", [(), ("term",), ("clean",)])
async def test_the_whole_tree(keepers: Keepers, flags: tuple[str, ...]) -> None:
    """T3: Commands in sessions of their own that ignore signals, left their parent or lost the mark all end."""
    link = await keepers.python(FAMILY, *flags)
    commands = [int(line) for line in await read(link, 2)]
    assert {os.getsid(pid) for pid in commands} == set(commands)
    assert psutil.Process(commands[1]).ppid() == keeper_pid(link), "orphans of the agent are the keeper's"
    exit = await link.end(grace=0.1)
    assert all(gone(pid) for pid in (*commands, link.pid, keeper_pid(link)))
    assert (exit.code, exit.signal) == ((None, signal.SIGKILL) if "term" in flags else (0, None))
    ended = keeper_folder.read_end(link.folder)
    assert ended is not None
    assert ended.left == []


async def test_commands_that_outlive_their_agent(keepers: Keepers) -> None:
    """T3: When an agent dies by itself, its commands are ended before its exit is reported."""
    link = await keepers.attach_altered(HASTY, sys.executable, "-c", FAMILY)
    commands = [int(line) for line in await read(link, 2)]
    await link.send(b"die", "1")
    _, exit = await read_to_end(link)
    assert exit.code == 9
    assert all(gone(pid) for pid in commands)


async def test_a_tree_that_keeps_growing(keepers: Keepers) -> None:
    """T3: Processes that start others while they are being killed are caught."""
    link = await keepers.python(
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('up', flush=True)\n"
        "until = time.monotonic() + 20\n"
        "while time.monotonic() < until:\n"
        "    time.sleep(0.02)\n"
        "    if os.fork():\n"
        "        time.sleep(0.02)\n"
        "        os._exit(0)\n"
        "    os.setsid()\n"
    )
    await read(link, 1)
    await link.end(grace=0.05)
    assert process_tree.marked(f"{MARK}={link.folder.name}".encode()) == []


async def test_every_step_is_bounded(keepers: Keepers) -> None:
    """T3: A server's time limit cannot keep an agent alive, not even one that is not a number."""
    link = await keepers.python(FAMILY, "term")
    await read(link, 2)
    await link.leave()
    with RawClient(link.folder) as client:
        client.hello()
        client.say(frames.message(frames.END, grace=float("nan")))
        assert client.hear_kind(frames.EXIT).text()["signal"] == signal.SIGKILL


async def test_a_keeper_ends_with_its_agent(keepers: Keepers) -> None:
    """O2: When the agent has ended and the server was told, the keeper exits and leaves the complete journal in its
    folder."""
    link = await keepers.start("sh", "-c", "echo one; read line; echo two; exit 3")
    await link.send(b"go", "1")
    lines, exit = await read_to_end(link)
    assert (lines, exit.code) == ([b"one", b"two"], 3)
    await eventually(lambda: gone(keeper_pid(link)))
    assert read_dead(link.folder, 1) == ([b"two"], exit)


async def test_a_keeper_without_a_server_ends_with_its_agent(keepers: Keepers) -> None:
    """O2: Without a server, the keeper waits a while after its agent's end and then leaves the outcome in its
    folder."""
    change = "from bough.agents.keeper import main_loop; main_loop.LINGER = 0.05"
    folder, news = keepers.altered(change, "/bin/sh", "-c", "echo one; exit 3")
    await eventually(lambda: gone(news["pid"]))
    lines, exit = read_dead(folder, 0)
    assert exit is not None
    assert (lines, exit.code) == ([b"one"], 3)


async def test_a_slow_server_is_not_cut_short(keepers: Keepers) -> None:
    """Q4: A server that has not read everything when the keeper exits finds the rest in the folder."""
    change = "from bough.agents.keeper import main_loop; main_loop.FAREWELL = 0.05"
    program = "for number in range(200_000): print(f'{number:099d}')"
    link = await keepers.attach_altered(change, sys.executable, "-c", program)
    await eventually(lambda: gone(keeper_pid(link)))
    lines, exit = await read_to_end(link)
    assert lines == [b"%099d" % number for number in range(200_000)]
    assert exit.code == 0


async def test_a_keeper_without_a_server_for_a_day(keepers: Keepers) -> None:
    """O2: A keeper that no server returns to ends its agent; one that is in use does not."""
    change = "from bough.agents.keeper import main_loop; main_loop.ALONE = 0.3; main_loop.FOLDER_CHECK = 0.05"
    link = await keepers.attach_altered(change, "/bin/cat")
    started = time.monotonic()
    await eventually(lambda: time.monotonic() - started > 0.5)
    assert await link.send(b"still here", "1")
    await link.leave()
    await eventually(lambda: gone(keeper_pid(link)))
    assert gone(link.pid)
    lines, exit = read_dead(link.folder, 0)
    assert lines == [b"still here"]
    assert exit is not None
    assert exit.code == 0


async def test_a_folder_that_is_gone(keepers: Keepers) -> None:
    """O2: Keepers whose data folder is gone end themselves and do not recreate it."""
    link = await keepers.attach_altered(HASTY, sys.executable, "-c", FAMILY)
    commands = [int(line) for line in await read(link, 2)]
    pid = keeper_pid(link)
    await link.leave()
    shutil.rmtree(keepers.root)
    await eventually(lambda: gone(pid))
    assert all(gone(pid) for pid in (*commands, link.pid))
    assert not keepers.root.exists()


async def test_a_folder_that_was_moved(keepers: Keepers) -> None:
    """O2: A renamed data folder still contains its keepers."""
    link = await keepers.start("cat")
    await link.leave()
    moved = keepers.root.with_name("moved")
    keepers.root.rename(moved)
    keepers.root = moved
    again = await attach_keeper(moved / link.folder.name, 0)
    assert await again.send(b"hello", "1")
    assert await read(again, 1) == [b"hello"]
    await again.end()
    assert (moved / link.folder.name / EXIT).exists()


async def test_sigterm(keepers: Keepers) -> None:
    """T3: SIGTERM, which every version of a keeper understands, ends agent and keeper in order."""
    link = await keepers.attach_altered(HASTY, sys.executable, "-c", FAMILY)
    commands = [int(line) for line in await read(link, 2)]
    os.kill(keeper_pid(link), signal.SIGTERM)
    _, exit = await read_to_end(link)
    assert exit.code == 0
    assert all(gone(pid) for pid in (*commands, link.pid))
    await eventually(lambda: gone(keeper_pid(link)))
