"""A turn survives under a keeper of another version of Bough, although no server can talk to it."""

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest

from bough.agents.errors import AgentGone
from bough.agents.keeper import frames
from bough.agents.keeper.files import KEEPER
from bough.agents.keeper.frames import VERSION
from bough.agents.keeper_client import keeper_folder
from bough.agents.keeper_client.journal_link import JournalLink
from bough.agents.keeper_client.keeper_launcher import KeeperLauncher
from bough.agents.keeper_client.start_keeper import attach_keeper
from bough.agents.link import LinkClosed
from bough.errors import AgentFailed
from tests.agents.keeper_peers import Keepers, RawClient, gone, keeper_pid, read, read_to_end
from tests.support.repos import make_repo
from tests.support.server import ServerProcess

OTHER = VERSION + 1
CHANGE = f"""
from bough.agents.keeper import end_agent, frames
end_agent.GRACE, frames.VERSION = 0.1, {OTHER}
"""
AGENT = """
import os, sys, time
print("one", flush=True)
for line in sys.stdin:
    print("heard", line, end="", flush=True)
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    print("done", flush=True)
    if "exit" in line:
        sys.exit(3)
open(sys.argv[1] + ".bye", "w").close()
"""
"""Answers a line once a file exists, and creates a file when it is asked to exit. It looks for the file again and
again: as a program of its own, it has no event to wait for."""


@pytest.fixture
def flag(tmp_path: Path) -> Path:
    return tmp_path / "flag"


@pytest.fixture
def folder(keepers: Keepers, flag: Path) -> Path:
    """Yields a keeper of another version whose server has sent a prompt and died."""
    folder, _ = keepers.altered(CHANGE, sys.executable, "-c", AGENT, str(flag))
    with RawClient(folder) as server:
        server.hello(version=OTHER)
        assert server.hear_kind(frames.WELCOME).text()["version"] == OTHER
        server.say(frames.send_frame("prompt:1:1", b"exit"))
        assert server.hear_kind(frames.ACK).text()["state"] == "fresh"
    return folder


async def test_the_version_is_reported(folder: Path) -> None:
    """O2: The error has its own code and names both versions, and the agent is unaffected."""
    with pytest.raises(
        AgentFailed, match=f"version {OTHER} of its protocol, and this server version {VERSION}"
    ) as caught:
        await attach_keeper(folder, 0)
    assert caught.value.code == "keeper_version"
    assert (caught.value.details["keeper_version"], caught.value.details["server_version"]) == (OTHER, VERSION)
    assert keeper_folder.is_alive(folder)


async def test_its_turn_finishes(keepers: Keepers, folder: Path, flag: Path) -> None:
    """O2: The agent's output is read live from the journal, and its end is reported: the turn is not lost."""
    link = await KeeperLauncher(keepers.root).attach(folder.name, 0)
    assert isinstance(link, JournalLink)
    assert not await link.send(b"exit", "prompt:1:1")
    assert await read(link, 2) == [b"one", b"heard exit"]
    link.confirm(2)
    assert keeper_folder.is_alive(folder)
    await asyncio.to_thread(flag.touch)
    lines, exit = await read_to_end(link)
    assert (lines, exit.code) == ([b"done"], 3)
    assert await link.end() == exit


async def test_an_attempt_to_send_ends_it(keepers: Keepers, folder: Path) -> None:
    """O2: A request that needs an answer fails with a code, and the agent is ended in order."""
    link = await KeeperLauncher(keepers.root).attach(folder.name, 1)
    assert await read(link, 1) == [b"heard exit"]
    with pytest.raises(AgentGone, match=f"speaks version {OTHER}") as caught:
        await link.send(b"answer", "approval:1")
    assert caught.value.code == "keeper_version"
    with pytest.raises(LinkClosed):
        while True:
            await link.receive()
    await link.end()
    assert gone(link.pid)
    assert gone(keeper_pid(folder))
    assert keeper_folder.read_end(folder) is not None


async def test_it_is_dropped_in_order(keepers: Keepers, flag: Path) -> None:
    """T3: SIGTERM, which every version understands, makes the keeper ask its agent to exit, and it does."""
    folder, _ = keepers.altered(CHANGE, sys.executable, "-c", AGENT, str(flag))
    about = keeper_folder.read_info(folder)
    assert about is not None
    link = await KeeperLauncher(keepers.root).attach(folder.name, 0)
    assert await read(link, 1) == [b"one"]
    await link.leave()
    assert keeper_folder.is_alive(folder)
    await KeeperLauncher(keepers.root).drop(folder.name)
    assert gone(about.agent.pid)
    assert gone(about.keeper.pid)
    assert flag.with_name("flag.bye").exists()
    assert not folder.exists()


async def test_a_server_that_was_upgraded_during_a_turn(tmp_path: Path) -> None:
    """O2: A turn under a keeper of another version is completed, and the next prompt gets a keeper of ours."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            session = (await client.session(repo["id"]))["id"]
            first = await client.prompt(session, "[[slow 20 1.5]]")
            await client.wait_task(first, "running")
            second = await client.prompt(session, "[[say after that]]")
        await server.stop(signal.SIGKILL)
        (folder,) = keeper_folder.list_keepers(server.data / "keepers")
        about = json.loads((folder / KEEPER).read_bytes())
        (folder / KEEPER).write_text(json.dumps(about | {"version": OTHER}))
        await server.start()
        async with server.client() as client:
            task = await client.wait_task(first)
            assert (task["status"], task["attempt"]) == ("completed", 1)
            assert (await client.wait_task(second))["status"] == "completed"
            assert (await client.texts(session))[-1] == "after that"
        assert not folder.exists()
        assert await server.stop() == 0
