"""A full disk: the agent waits, no line is lost, and the problem is reported.

A process's file size limit simulates the disk: any user can set it on a running keeper and lift it again, and a write
that does not fit is cut short as on a disk that fills up.
"""

import asyncio
import os
import resource
from pathlib import Path

import psutil
import pytest

from bough.agents.keeper import process_tree
from bough.agents.keeper.files import MARK
from bough.agents.keeper_client import keeper_folder
from bough.agents.keeper_client.keeper_link import KeeperLink
from tests.agents.keeper_peers import Keepers, gone, keeper_pid, read, read_dead
from tests.support.eventually import eventually

QUICK = "from bough.agents.keeper import full_disk; full_disk.DISK_RETRY = 0.02"
"""A keeper that checks for free space more often than usual."""
# Seconds during which a keeper's processor time is measured.
WATCHED = 0.5
WRITER = """
import sys
for number in range(3000):
    sys.stdout.write(f"{number:0999d}\\n")
sys.stdout.flush()
open(sys.argv[1], "w").close()
for line in sys.stdin:
    print("heard", line, end="", flush=True)
"""
"""Writes 3 MB, more than any pipe holds, creates a file, and then answers."""


def fill(held: KeeperLink | Path, room: int) -> None:
    """Limits how much the keeper's files can still grow."""
    folder = held if isinstance(held, Path) else held.folder
    size = (folder / "journal").stat().st_size
    limit(held, size + room)


def limit(held: KeeperLink | Path, size: int) -> None:
    _, hard = resource.prlimit(keeper_pid(held), resource.RLIMIT_FSIZE)
    resource.prlimit(keeper_pid(held), resource.RLIMIT_FSIZE, (size, hard))


def free(held: KeeperLink | Path) -> None:
    limit(held, resource.prlimit(keeper_pid(held), resource.RLIMIT_FSIZE)[1])


async def test_the_agent_waits_and_nothing_is_lost(keepers: Keepers, tmp_path: Path) -> None:
    """O2: While the disk is full the agent is not read, which is reported; then it continues with every line."""
    done = tmp_path / "done"
    import sys

    link = await keepers.attach_altered(
        QUICK + "; import resource; hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]"
        "; resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))",
        sys.executable,
        "-c",
        WRITER,
        str(done),
    )
    await eventually(lambda: link.trouble != "")
    assert link.trouble == "The journal cannot be written (File too large). The agent is paused until it can."
    send = asyncio.create_task(link.send(b"hello", "prompt:1:1"))
    await link.leave()
    await asyncio.wait([send])
    assert send.exception() is not None
    link = await keepers.attach(link, 0)
    assert link.trouble != "", "a server that comes later is told too"
    send = asyncio.create_task(link.send(b"hello", "prompt:1:1"))
    done_, _ = await asyncio.wait([send], timeout=0.05)
    assert not done_, "what cannot be journalled is not written, and not acknowledged"
    assert not done.exists()
    free(link)
    assert await send
    assert await read(link, 3001) == [b"%0999d" % number for number in range(3000)] + [b"heard hello"]
    assert link.trouble == ""
    assert done.exists()


async def test_waiting_for_space_does_not_spin(keepers: Keepers) -> None:
    """O2: A keeper with a line that it cannot journal does not spin while its agent writes."""
    link = await keepers.attach_altered(
        QUICK, "/bin/sh", "-c", "read go; echo $go; while read line; do echo $line; done"
    )
    assert await link.send(b"one", "1")
    assert await read(link, 1) == [b"one"]
    fill(link, 0)
    with RawTalk(link) as talk:
        send = asyncio.create_task(link.send(b"two", "2"))
        await eventually(lambda: link.trouble != "")
        talk.say(b"by itself\n")
        keeper = psutil.Process(keeper_pid(link))
        before = sum(keeper.cpu_times()[:2])
        # Nothing reports that a program stays idle: its processor time is measured over a span.
        await asyncio.sleep(WATCHED)
        assert sum(keeper.cpu_times()[:2]) - before < WATCHED / 3
    free(link)
    assert await send
    assert sorted(await read(link, 2)) == [b"by itself", b"two"]


class RawTalk:
    """Writes to the stdout of an agent in its place."""

    def __init__(self, link: KeeperLink) -> None:
        self._fd = os.open(f"/proc/{link.pid}/fd/1", os.O_WRONLY)

    def __enter__(self) -> "RawTalk":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def say(self, data: bytes) -> None:
        os.write(self._fd, data)


async def test_confirming_frees_space(keepers: Keepers) -> None:
    """O2: Confirmed lines are released, which makes room on the disk."""
    link = await keepers.attach_altered(QUICK, "/bin/cat")
    for number in range(3):
        assert await link.send(b"%d" % number * 400_000, str(number))
    await read(link, 3)
    fill(link, 0)
    send = asyncio.create_task(link.send(b"x" * 400_000, "3"))
    await eventually(lambda: link.trouble != "")
    link.confirm(3)
    assert await send
    assert await read(link, 1) == [b"x" * 400_000]
    assert link.trouble == ""


async def test_an_agent_is_ended_on_a_full_disk(keepers: Keepers) -> None:
    """O2: An agent can be ended although its last lines cannot be written, and that is reported."""
    change = "; from bough.agents.keeper import main_loop; main_loop.DISK_PATIENCE = 0.1"
    link = await keepers.attach_altered(QUICK + change, "/bin/sh", "-c", "read go; echo last words; cat")
    fill(link, 40)  # enough for the prompt, but not for the answer
    assert await link.send(b"go", "1")
    await eventually(lambda: link.trouble != "")
    exit = await link.end()
    assert exit.code == 0
    assert gone(link.pid)
    assert gone(keeper_pid(link))
    assert read_dead(link.folder, 0) == ([], None)


async def test_an_agent_exits_on_a_full_disk(keepers: Keepers) -> None:
    """O2: The keeper waits for room on the disk and then delivers everything."""
    link = await keepers.attach_altered(QUICK, "/bin/sh", "-c", "read go; echo last words; exit 4")
    fill(link, 40)  # enough for the prompt, but not for the answer
    assert await link.send(b"go", "1")
    await eventually(lambda: link.trouble != "" and gone(link.pid))
    assert keeper_folder.is_alive(link.folder)
    free(link)
    assert await read(link, 1) == [b"last words"]
    assert (await link.end()).code == 4


@pytest.mark.parametrize("room", [0, 10])
def test_a_start_on_a_full_disk(keepers: Keepers, room: int) -> None:
    """O2: A keeper that cannot write its file reports that and leaves no agent behind."""
    change = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))"
    folder, news = keepers.altered(change, "/bin/sleep", "60")
    assert news == {"error": "File too large"}
    assert process_tree.marked(f"{MARK}={folder.name}".encode()) == []
    assert keeper_folder.read_info(folder) is None
