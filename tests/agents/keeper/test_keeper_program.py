"""The keeper as a program: its size, its start, its dependencies and its access control."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

import bough
from bough.agents.keeper import files, frames
from bough.agents.keeper_client import keeper_folder
from bough.agents.keeper_client.start_keeper import attach_keeper, start_keeper
from tests.agents.keeper_peers import Keepers, RawClient, gone, keeper_pid, read
from tests.support.eventually import eventually

MAX_RESIDENT = 16 * 1024
"""KiB that a keeper may use."""
MOST_STARTS = 15
"""The start of a keeper, its agent and the link may take as long as this many starts of a bare interpreter."""
LINES = """
import sys
for number in range(10_000):
    sys.stdout.write("x" * 199 + "\\n")
sys.stdout.flush()
sys.stdin.read()
"""


def resident(pid: int) -> int:
    """Returns the current and the peak size of a process in KiB."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmHWM"].split()[0])


async def test_it_is_small(keepers: Keepers) -> None:
    """O2: Takes at most 16 MB resident: with an empty journal, with 10,000 lines, and after all were read twice."""
    link = await keepers.python(LINES)
    assert resident(keeper_pid(link)) < MAX_RESIDENT
    assert len(await read(link, 10_000)) == 10_000
    await link.leave()
    link = await keepers.attach(link, 0)
    assert len(await read(link, 10_000)) == 10_000
    assert resident(keeper_pid(link)) < MAX_RESIDENT
    assert (link.folder / "journal").stat().st_size > 2_000_000
    link.confirm(10_000)
    await eventually(lambda: (link.folder / "journal").stat().st_size < 1000)
    assert resident(keeper_pid(link)) < MAX_RESIDENT


async def test_it_starts_quickly(keepers: Keepers) -> None:
    """O2: It starts within a small multiple of a bare interpreter, so nothing heavy is imported. The best of five."""
    took: list[float] = []
    floor: list[float] = []
    for _ in range(5):
        before = time.perf_counter()
        bare = await asyncio.create_subprocess_exec(sys.executable, "-I", "-c", "pass")
        await bare.wait()
        between = time.perf_counter()
        await keepers.start("cat")
        floor.append(between - before)
        took.append(time.perf_counter() - between)
    assert min(took) < MOST_STARTS * min(floor)


def test_it_needs_the_standard_library_alone() -> None:
    """O2: The keeper can be imported where nothing is installed, and loads no other part of Bough and no asyncio."""
    source = Path(bough.__file__).parents[1]
    program = (
        f"import sys; sys.path.insert(0, {str(source)!r}); import bough.agents.keeper.__main__; "
        "import json; print(json.dumps([sorted(sys.modules), sys.path]))"
    )
    output = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, check=True).stdout
    modules, path = json.loads(output)
    assert not [folder for folder in path if "site-packages" in folder]
    ours = {name for name in modules if name.partition(".")[0] == "bough"}
    assert "bough.agents.keeper.main_loop" in ours
    outside = {name for name in ours if not name.startswith("bough.agents.keeper.")}
    assert outside == {"bough", "bough.agents", "bough.agents.keeper"}
    assert not {"asyncio", "ssl", "subprocess", "logging", "threading"} & set(modules)


async def test_it_is_detached(keepers: Keepers) -> None:
    """O2: The keeper is neither a child of the server nor in its session, holds none of its files open, and outlives
    its terminal."""
    link = await keepers.start("cat")
    pid = keeper_pid(link)
    assert os.getsid(pid) not in (os.getsid(0), pid)
    assert psutil.Process(pid).ppid() != os.getpid()
    opened = {name: os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
    assert opened["0"] == opened["1"] == "/dev/null"
    assert opened["2"] == str(link.folder / "keeper.log")
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    os.kill(pid, signal.SIGHUP)
    os.kill(pid, signal.SIGINT)
    assert await link.send(b"still there", "1")
    assert await read(link, 1) == [b"still there"]
    assert (link.folder / "keeper.log").read_bytes() == b""


async def test_its_folder_is_private(keepers: Keepers) -> None:
    """O2: Nobody else can enter the folder or read its files, and the file with secrets is deleted."""
    os.umask(umask := os.umask(0))
    assert umask != 0o077, "this test shows nothing with such a umask"
    link = await keepers.start("cat")
    assert await link.send(b"hello", "1")
    assert stat.S_IMODE(link.folder.stat().st_mode) == 0o700
    names = {path.name: stat.S_IMODE(path.stat().st_mode) for path in link.folder.iterdir()}
    assert names.pop(files.SOCKET) & stat.S_IXUSR  # protected by the folder
    assert names == {"keeper.json": 0o600, "journal": 0o600, "keeper.log": 0o600}


async def test_a_folder_of_any_depth(tmp_path: Path) -> None:
    """O2: A socket's path is limited to 108 bytes, but a data folder's path may be longer."""
    root = tmp_path / ("deep" * 30) / "keepers"
    keepers = Keepers(root)
    try:
        link = await keepers.start("cat")
        assert len(str(link.folder / files.SOCKET)) > 200
        assert await link.send(b"from below", "1")
        assert await read(link, 1) == [b"from below"]
    finally:
        await keepers.close()


async def test_the_only_socket(keepers: Keepers) -> None:
    """O2: The socket in its folder is the only one it listens on."""
    link = await keepers.start("cat")
    targets = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{keeper_pid(link)}/fd")]
    assert (
        len([name for name in targets if name.startswith("socket:")]) == 2
    )  # the listening socket, and our connection
    with RawClient(link.folder) as client:
        client.hello()
        assert client.hear_kind(frames.NOTE).text()["code"] == "busy"


def test_a_late_start(keepers: Keepers) -> None:
    """Q4: A keeper that starts after its server has given up starts no agent."""
    folder = keepers.root / "late"
    folder.mkdir(mode=0o700, parents=True)
    (folder / files.START).write_text(json.dumps({"id": "late", "program": "/bin/true"}))
    asked = time.time() - 60
    os.utime(folder / files.START, (asked, asked))
    program = [sys.executable, "-I", "-m", "bough.agents.keeper", str(folder)]
    run = subprocess.run(program, capture_output=True, check=True)
    assert run.stdout == b""
    assert b"this start was requested 6" in run.stderr
    assert os.listdir(folder) == []


async def test_a_start_that_waited_for_a_thread(keepers: Keepers) -> None:
    """Q4: Time that a start spends in the server's own queue does not count as the keeper's."""
    loop, free = asyncio.get_running_loop(), threading.Event()
    loop.set_default_executor(ThreadPoolExecutor(1))
    loop.run_in_executor(None, free.wait)
    starting = asyncio.create_task(keepers.start("cat"))
    await eventually(lambda: keeper_folder.list_keepers(keepers.root))
    (folder,) = keeper_folder.list_keepers(keepers.root)
    # This has the same effect as waiting for a minute.
    for path in (folder, *folder.iterdir()):
        os.utime(path, (time.time() - 60, time.time() - 60))
    free.set()
    link = await starting
    assert await link.send(b"in time", "1")


async def test_an_agent_that_exits_at_once(keepers: Keepers) -> None:
    """O2: The caller learns how the agent ended, although it was gone before anyone could attach."""
    folder, news = keepers.altered("", "/bin/sh", "-c", "echo sorry >&2; exit 7")
    await eventually(lambda: (folder / files.EXIT).exists())
    assert not gone(news["pid"])
    link = await attach_keeper(folder, 0)
    exit = await link.end()
    assert (exit.code, exit.stderr) == (7, "sorry\n")
    assert gone(news["pid"])


async def test_a_name_is_used_once(keepers: Keepers) -> None:
    """Q4: Two agents never share a folder and thus a journal."""
    link = await keepers.start("cat")
    with pytest.raises(FileExistsError):
        await start_keeper(keepers.root, link.folder.name, ["cat"], cwd="/", env={})
    assert await link.send(b"untouched", "1")
