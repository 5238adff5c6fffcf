"""After a keeper is killed, its journal is read to the end, and its agent's processes are ended."""

import asyncio
import contextlib
import os
import random
import resource
import signal
import sys
import time
from pathlib import Path

import pytest

from bough.agents.keeper import process_tree
from bough.agents.keeper.files import KEEPER, MARK
from bough.agents.keeper_client import keeper_folder, orphans, start_keeper
from bough.agents.keeper_client.dead_agent_link import DeadAgentLink
from bough.agents.keeper_client.keeper_launcher import KeeperLauncher
from bough.agents.link import AgentExit, LinkClosed
from tests.agents.keeper_peers import FAMILY, PATIENCE, Keepers, gone, keeper_pid, read, read_to_end
from tests.support.eventually import eventually

COUNT = """
import itertools, sys
for number in itertools.count(1):
    sys.stdout.write("%d%s\\n" % (number, "x" * (number * 7919 % 500)))
    if number % 100 == 0:
        sys.stdout.flush()
"""
"""Prints numbered lines of all lengths without end."""
DIES_AT_THE_LIMIT = """
import resource, signal
from bough.agents.keeper import agent_process
agent_process.IGNORED = tuple(number for number in agent_process.IGNORED if number != signal.SIGXFSZ)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
"""
"""A keeper that the system kills when a write exceeds the file size limit; the part that fits is written."""


@pytest.fixture
def launcher(keepers: Keepers) -> KeeperLauncher:
    return KeeperLauncher(keepers.root)


@pytest.mark.parametrize("torn", ["send", "lines"])
async def test_killed_in_the_middle_of_a_write(keepers: Keepers, launcher: KeeperLauncher, torn: str) -> None:
    """Q4: An incomplete record at the end of the journal is ignored; everything before it is there, once."""
    link = await keepers.attach_altered(DIES_AT_THE_LIMIT, "/bin/cat")
    assert await link.send(b"first", "prompt:1:1")
    last = (await link.receive()).last
    journal = link.folder / "journal"
    second = b"second" * 10
    # The record of a sent line has a header of 22 bytes and its key.
    whole = journal.stat().st_size + (22 + len("prompt:2:1") if torn == "lines" else 0)
    resource.prlimit(keeper_pid(link), resource.RLIMIT_FSIZE, (whole + 20, resource.RLIM_INFINITY))
    with pytest.raises(LinkClosed) if torn == "send" else contextlib.nullcontext():
        assert await link.send(second, "prompt:2:1")
    await eventually(lambda: gone(keeper_pid(link)))
    assert journal.stat().st_size == whole + 20, "the last record is torn"
    assert await read_to_end(link) == ([], AgentExit(code=None, signal=None, stderr=""))
    attached = await launcher.attach(link.folder.name, 0)
    assert gone(link.pid)
    assert isinstance(attached, DeadAgentLink)
    assert not await attached.send(b"first", "prompt:1:1")
    assert await attached.send(second, "prompt:2:1") == (torn == "send")
    lines, exit = await read_to_end(attached)
    assert (lines, exit.code, exit.signal) == ([b"first"], None, None)
    assert await read_to_end(await launcher.attach(link.folder.name, last)) == ([], exit)


@pytest.mark.parametrize("seed", range(4))
async def test_killed_at_any_moment(keepers: Keepers, launcher: KeeperLauncher, seed: int) -> None:
    """Q4: The lines that a server stored before and the ones it finds afterwards are all that were journaled, each
    once."""
    chance = random.Random(seed)
    link = await keepers.python(COUNT)
    stored = chance.randrange(1, 3000)
    lines = (await read(link, stored))[:stored]
    if chance.random() < 0.5:
        link.confirm(stored)
        await read(link, 10_000)
    os.kill(keeper_pid(link), signal.SIGKILL)
    attached = await launcher.attach(link.folder.name, stored)
    more, exit = await read_to_end(attached)
    assert exit.code is None
    assert gone(link.pid)
    lines += more
    numbers = range(1, len(lines) + 1)
    assert lines == [b"%d%s" % (number, b"x" * (number * 7919 % 500)) for number in numbers]


async def test_orphans_are_found_by_their_mark(keepers: Keepers, launcher: KeeperLauncher) -> None:
    """Q4: Commands in sessions of their own that ignore SIGTERM or left their parent are ended before anything else."""
    link = await keepers.python(FAMILY, "term")
    commands = [int(line) for line in await read(link, 2)]
    os.kill(keeper_pid(link), signal.SIGKILL)
    assert not gone(link.pid)
    attached = await launcher.attach(link.folder.name, 2)
    assert all(gone(pid) for pid in (*commands, link.pid))
    assert (await read_to_end(attached))[0] == []
    await launcher.drop(link.folder.name)
    assert launcher.names() == []


async def test_an_agent_that_ended_before_its_keeper(keepers: Keepers, launcher: KeeperLauncher) -> None:
    """O2: If the agent ended before its keeper died, its last lines and its exit are found."""
    link = await keepers.start("sh", "-c", "echo one; echo two; echo why >&2; exit 3")
    await eventually(lambda: gone(keeper_pid(link)))
    attached = await launcher.attach(link.folder.name, 1)
    lines, exit = await read_to_end(attached)
    assert (lines, exit.code, exit.stderr) == ([b"two"], 3, "why\n")
    assert attached.stderr_tail() == "why\n"
    assert await attached.end() == exit


async def test_a_keeper_that_does_not_answer(
    keepers: Keepers, launcher: KeeperLauncher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q4: A keeper that hangs is ended with its agent before its journal is read, so that nobody writes to it any
    more."""
    monkeypatch.setattr(start_keeper, "HELLO_WAIT", 0.2)
    monkeypatch.setattr(orphans, "END_MARGIN", 0.1)
    monkeypatch.setattr(orphans, "GRACE", 0.05)
    monkeypatch.setattr(orphans, "KILL_WAIT", 0.5)
    link = await keepers.start("cat")
    assert await link.send(b"one", "1")
    assert await read(link, 1) == [b"one"]
    await link.leave()
    os.kill(keeper_pid(link), signal.SIGSTOP)
    attached = await launcher.attach(link.folder.name, 0)
    assert gone(keeper_pid(link))
    assert gone(link.pid)
    assert (await read_to_end(attached))[0] == [b"one"]


@pytest.mark.parametrize("content", [b"", b"{", b'{"version":1}', b"null"])
async def test_a_file_that_a_crash_has_garbled(keepers: Keepers, launcher: KeeperLauncher, content: bytes) -> None:
    """Q4: If a crash of the machine garbled a keeper's files, the keeper counts as dead and its journal is read."""
    link = await keepers.start("cat")
    assert await link.send(b"one", "1")
    assert await read(link, 1) == [b"one"]
    os.kill(keeper_pid(link), signal.SIGKILL)
    (link.folder / KEEPER).write_bytes(content)
    (link.folder / "exit.json").write_bytes(content)
    os.utime(link.folder, (1e9, 1e9))
    attached = await launcher.attach(link.folder.name, 0)
    assert (await read_to_end(attached))[0] == [b"one"]
    assert gone(link.pid)


async def test_a_keeper_that_died_during_its_start(keepers: Keepers, launcher: KeeperLauncher) -> None:
    """Q4: If a keeper died before it wrote its file, its agent is found by its mark."""
    change = """
import os
from bough.agents.keeper import files
files.write_json = lambda *_: os.kill(os.getpid(), 9)
"""
    with pytest.raises(ValueError, match="Expecting value"):
        keepers.altered(change, "/bin/sleep", "60")
    (folder,) = keeper_folder.list_keepers(keepers.root)
    # The mark is seen once the agent's own program runs.
    (agent,) = await eventually(lambda: process_tree.marked(f"{MARK}={folder.name}".encode()))
    os.utime(folder, (1e9, 1e9))
    await launcher.drop(folder.name)
    assert gone(agent.pid)
    assert launcher.names() == []


async def test_a_folder_with_a_future_date(
    keepers: Keepers, launcher: KeeperLauncher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q4: A folder without a keeper whose date is in the future, because the clock was set back, is not waited for."""
    monkeypatch.setattr("bough.agents.keeper_client.start_keeper.START_LIMIT", 0.5)
    folder = keepers.root / "later"
    folder.mkdir(mode=0o700, parents=True)
    later = time.time() + 3600
    os.utime(folder, (later, later))
    async with asyncio.timeout(PATIENCE):
        await launcher.drop(folder.name)
    assert launcher.names() == []


async def test_a_dropped_agent_is_asked_to_exit(keepers: Keepers, launcher: KeeperLauncher, tmp_path: Path) -> None:
    """T3: A dropped agent is asked to exit before it is forced to, whichever of its lines were confirmed."""
    bye = tmp_path / "bye"
    script = "import sys; print('x' * 1_500_000, flush=True); sys.stdin.read(); open(sys.argv[1], 'w').close()"
    link = await keepers.start(sys.executable, "-c", script, str(bye))
    await read(link, 1)
    link.confirm(1)
    await eventually(lambda: (link.folder / "journal").stat().st_size < 1000)
    await link.leave()
    await launcher.drop(link.folder.name)
    assert bye.exists()
    assert gone(link.pid)
    assert launcher.names() == []
    await launcher.drop(link.folder.name)
